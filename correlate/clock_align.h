// clock_align.h: how far each host's wall clock is off, from the logs alone.
//
// Why:     hosts disagree by milliseconds to hours, and log lines carry no zone; a reader who compares two
//          hosts' stamps must be told. The verdict itself rests on roles and on order within one log, never on
//          an offset that was guessed.
// Model:   two facts tie hosts together: the same collective (group and sequence number), entered in lock-step,
//          whose watchdog line is dated back by its own "ran for"; and the same training step printed on two
//          hosts. The offset against the reference host is the median of the differences; its uncertainty is
//          their spread, the stamps' resolution and the time that lock-step ranks may differ.
// Units:   nanoseconds; offset = host minus job. The job's clock is that of the reference host, the first by name
//          among those with most facts.
// Errors:  a host without a common fact is reported as not aligned, with the reason.
// Threads: pure function.
// Source:  shared reference signatures, section 1.2 (onset of a time-out), log-prefixes, section 12.
#ifndef FIRSTFAULT_CORRELATE_CLOCK_ALIGN_H_
#define FIRSTFAULT_CORRELATE_CLOCK_ALIGN_H_

#include <optional>
#include <string>
#include <vector>

#include "correlate/incident.h"

namespace firstfault {

struct ClockEstimate {
  std::string host;
  bool aligned = false;
  std::string method;  // or the reason why not
  int64_t offset_ns = 0;
  int64_t uncertainty_ns = 0;
};

// One entry a host that has wall-clock stamps, in order of host names. Empty where fewer than two have any.
std::vector<ClockEstimate> AlignClocks(const Incident& incident);

// A stamp of a source as Unix time, where its zone is known: printed, or given by --timezone.
std::optional<int64_t> UnixTime(const Stamp& stamp, const SourceInfo& source);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CLOCK_ALIGN_H_
