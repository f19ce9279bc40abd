// host_names.h: which word of a path is a host, settled by all sources of a run together.
//
// Why:     "asr-a.log" is a host's log beside "asr-b.log" or "kmsg-asr-a.log", and nothing on its own; a
//          wrong host accuses a machine that does not exist.
// Model:   a word is a host if it looks like one and a sibling (same folder) has another word of the same
//          shape, or if a source whose host is certain names it.
// Threads: pure functions.
// Order:   does not depend on the order of the sources.
// Example: "asr-a.log", "asr-b.log" -> hosts asr-a, asr-b; "train-1.log", "train-2.log" -> none.
#ifndef FIRSTFAULT_COORDINATOR_HOST_NAMES_H_
#define FIRSTFAULT_COORDINATOR_HOST_NAMES_H_

#include <string_view>
#include <vector>

#include "correlate/event.h"

namespace firstfault {

// A host name by its form, and not a word that log files are called by ("train-2").
bool LooksLikeHost(std::string_view word);

// A word that log files are called by, whatever number follows it: "train", "epoch12", "dmesg-after".
bool IsLogWord(std::string_view word);

// Fills `host` where it is absent and settled, and corrects node ranks that count a master pod as the
// first node. Call when all sources of the run are known; what was set before stays.
void NameHostsBySiblings(const std::vector<SourceInfo*>& sources);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_HOST_NAMES_H_
