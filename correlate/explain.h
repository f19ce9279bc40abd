// explain.h: which fault explains which other one.
//
// Why:     one broken GPU, file server or scheduler decision makes several processes print causes of their
//          own. A suspect that another one explains is an effect, and evidence for its cause.
// Model:   a table of edges "cause family explains effect family over a relation", and the catalogue's own
//          precedes/follows lists.
// Threads: pure function.
// Source:  shared reference signatures, sections 1.2 (cascade edges) and 1.4 (one failure told several times).
#ifndef FIRSTFAULT_CORRELATE_EXPLAIN_H_
#define FIRSTFAULT_CORRELATE_EXPLAIN_H_

#include <set>
#include <string>

#include "correlate/suspects.h"

namespace firstfault {

// Hosts on which some rank is known to run. A kernel log of another host may be the node of any container.
std::set<std::string> HostsWithRanks(const Incident& incident);

// Whether `cause` explains `effect`; both are suspects of one incident.
bool Explains(const Suspect& cause, const Suspect& effect, const std::set<std::string>& hosts_with_ranks);

// The catalogue says that lines of `a` come before lines of `b`.
bool Precedes(const Signature& a, const Signature& b);

// "oom" of "oom.kernel.kill".
std::string_view FamilyOf(std::string_view id);

bool FromKernel(const PlacedEvent& event);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_EXPLAIN_H_
