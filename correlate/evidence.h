// evidence.h: small questions that several stages ask of placed events.
//
// Threads: pure functions.
#ifndef FIRSTFAULT_CORRELATE_EVIDENCE_H_
#define FIRSTFAULT_CORRELATE_EVIDENCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/incident.h"

namespace firstfault {

// Signatures that say "I waited until my time was up" or "I was stuck in a collective".
bool IsWaiter(std::string_view id);

// An operation that need not be of all members of its group.
bool IsPointToPoint(std::string_view op);

// Rows that say "I was told to stop", in several words; the scheduler's own reasons are other rows.
bool IsStopSignal(std::string_view id);

// Decisions about a whole job or node: their place is never a rank.
bool IsSchedulerDecision(const Signature& signature);

// Rows about remote file systems.
bool IsStorage(std::string_view id);

// Ranks that reported such a wait, sorted.
std::vector<int32_t> WaitersOf(const Incident& incident);

// Ranks of the job (of one host, if given) that reported no wait although others did, sorted; of those that no log
// shows, the first 64.
std::vector<int32_t> SilentRanks(const Incident& incident, const std::string& host);

// The one rank with remarks of its own. Only where every rank of the job prints its steps: the others would have
// been heard.
std::optional<int32_t> OnlyRankWithRemarks(const Incident& incident);

// A place as a key: a rank, else a host, else a file.
std::string KeyOf(const PlacedEvent& event);

// Same source and printed before: the only order that needs no clock.
bool PrintedBefore(const PlacedEvent& a, const PlacedEvent& b);

// The text in quotes, cut to a line's length.
std::string Quote(std::string_view text);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_EVIDENCE_H_
