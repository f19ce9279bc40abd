// advice.h: what to change, how to prove it, and which node to take out, for the fault that was named.
//
// Why:     a verdict that does not say what to do next is half an answer; advice that proposes a setting
//          which the logs show to be on already is worse than none.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_ADVICE_H_
#define FIRSTFAULT_CORRELATE_ADVICE_H_

#include <optional>
#include <string>
#include <vector>

#include "correlate/incident.h"
#include "correlate/oom.h"
#include "correlate/suspects.h"
#include "proto/report.pb.h"

namespace firstfault {

// `oom`: the arithmetic, where memory ran out.
v1::Advice AdviseOn(const Incident& incident, const Suspect& culprit, const std::optional<OomAnswer>& oom);

// The first of these controls that fits: what belongs to another scheduler than the one heard does not, nor what asks
// a living process where a launcher has seen the end. Null where none does.
const v1::Remedy* ControlOf(const Incident& incident, const std::vector<std::string>& codes);

// What to collect where nobody could be named, or not why: first what was not read, then what must be run.
std::vector<std::string> WouldSettle(const Incident& incident, const std::vector<Suspect>& suspects);

// One line: can it be restarted now.
std::string RestartLine(const Incident& incident, const Suspect& culprit);

// "<bus>" and the like replaced by what the line captured; one without a value stays as it is.
std::string FillPlaceholders(const std::string& text, const Fields& fields);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_ADVICE_H_
