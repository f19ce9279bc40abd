// silent.h: suspects that printed no cause of their own: accused by others, missing, behind, killed.
//
// Why:     the culprit often leaves no line. What others say about it, and what it did not say, names it.
// Model:   adds to the suspects that exist already where the place is the same, else makes new ones.
// Threads: pure function.
// Source:  shared reference signatures, sections 1.1 and 1.3.
#ifndef FIRSTFAULT_CORRELATE_SILENT_H_
#define FIRSTFAULT_CORRELATE_SILENT_H_

#include <vector>

#include "correlate/suspects.h"

namespace firstfault {

void AddSilentSuspects(const Incident& incident, std::vector<Suspect>* suspects);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_SILENT_H_
