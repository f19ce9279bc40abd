// known.h: what the logs do say where they do not say who failed first, and how the run ended.
//
// Why:     "undetermined" alone helps nobody: that all ranks wait in the same collective rules out a missing
//          rank. And a log that stops without a failure is no proof of a good end.
// Threads: pure functions.
#ifndef FIRSTFAULT_CORRELATE_KNOWN_H_
#define FIRSTFAULT_CORRELATE_KNOWN_H_

#include <string>
#include <vector>

#include "correlate/incident.h"

namespace firstfault {

// Sentences, the most telling first.
std::vector<std::string> WhatIsKnown(const Incident& incident);

struct RunEnd {
  bool completed = false;  // a log says so
  std::string sentence;    // how the run ended, as far as it was seen
  std::string behind;      // not empty: a rank stopped steps before all others went on
};

RunEnd EndOf(const Incident& incident);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_KNOWN_H_
