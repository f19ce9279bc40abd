// oom_advice.h: what to change where memory ran out, by the answer of the arithmetic.
//
// Why:     the repairs exclude each other: a fragmented pool needs no smaller batch, a full one no other
//          allocator, and nobody should look for a process that the logs do not show.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_OOM_ADVICE_H_
#define FIRSTFAULT_CORRELATE_OOM_ADVICE_H_

#include <string>
#include <vector>

#include "correlate/oom.h"

namespace firstfault {

struct OomChange {
  std::string text;
  std::vector<std::string> settings;  // NAME=VALUE pairs that it proposes; on already: not to be proposed
};

// Best first. Empty: the row's own advice says it better.
std::vector<OomChange> ChangesFor(const OomAnswer& answer);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_OOM_ADVICE_H_
