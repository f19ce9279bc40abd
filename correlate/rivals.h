// rivals.h: other readings of the same lines, and what separates them.
//
// Why:     who failed first is one question, of what kind the fault is another: a crash at an illegal address
//          is code on most days and a broken GPU on some. A reader who is shown the rivals, what these logs
//          say for and against each, and the control that decides, does not replace a node for a bug.
// Model:   one table (rivals.cc): a signature, the classes it is mistaken for, the families of lines that
//          speak for each, and the source in which those lines would stand. A source that was read and is
//          silent counts against; one that was not read is named as missing.
// Threads: pure functions.
// Source:  shared reference signatures, sections 1.3, 3, 9.2, 14.1, 16 and 18.
#ifndef FIRSTFAULT_CORRELATE_RIVALS_H_
#define FIRSTFAULT_CORRELATE_RIVALS_H_

#include <string>
#include <string_view>
#include <vector>

#include "correlate/incident.h"

namespace firstfault {

struct Rival {
  FaultClass fault_class = FaultClass::kUndetermined;
  std::string statement;  // what happened then
  double weight = 0;      // relative to the leading reading, below 1
  std::vector<std::string> evidence_for, evidence_against;
  std::string control;               // the command or action that separates it from the leading reading
  std::vector<std::string> reading;  // what each outcome of the control means
  std::string missing;  // a source that would decide and was not read, with the command that collects it
};

// Best first; empty where a line of this signature has no rivals. The weights of all together are at most 1:
// a reading overtakes what the fault's own line says only by a line of its own.
std::vector<Rival> RivalsOf(const Incident& incident, std::string_view signature, const Location& place);

// Hosts of the job whose kernel log was not read.
std::vector<std::string> HostsWithoutKernelLog(const Incident& incident);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_RIVALS_H_
