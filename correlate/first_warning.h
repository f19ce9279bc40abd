// first_warning.h: the earliest line on the fault's causal path, by one ordered table of rules.
//
// Why:     the warning is often milder and earlier than the fault: corrected PCIe errors before the GPU is
//          lost, memory climbing on one rank before the kernel kills it. Two readers should pick the same line.
// Model:   rules are tried in order; the first that finds a line decides; else it is the fault's own first
//          line.
// Threads: pure function; pointers go into the incident.
#ifndef FIRSTFAULT_CORRELATE_FIRST_WARNING_H_
#define FIRSTFAULT_CORRELATE_FIRST_WARNING_H_

#include <string>

#include "correlate/incident.h"
#include "correlate/suspects.h"

namespace firstfault {

struct WarningLine {
  const PlacedEvent* event = nullptr;   // where a signature matched it
  const SourceDigest* source = nullptr; // else: a plain line
  Position at;
  std::string text;
  std::string rule;                     // why this line
};

WarningLine FindFirstWarning(const Incident& incident, const Suspect& culprit);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_FIRST_WARNING_H_
