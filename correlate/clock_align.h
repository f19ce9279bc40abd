// clock_align.h: every stamp as an interval on the job's timeline.
//
// Why:     hosts disagree by milliseconds to hours, and most lines carry no zone; a reader who compares two
//          hosts' stamps must be told, and nothing may be ordered by a clock that is not known to allow it.
// Model:   facts (clock_facts.h) bound how far clocks differ, the solver (clock_solve.h) turns the bounds
// into
//          an interval for each clock. The job's time is that of the reference clock: Unix time where its
//          stamps carry a zone, else its digits read as UTC.
// Units:   nanoseconds; offset = host minus job.
// Errors:  a host that is not aligned has a reason; its stamps have no place on the timeline.
// Threads: pure; a JobClock may be used concurrently.
#ifndef FIRSTFAULT_CORRELATE_CLOCK_ALIGN_H_
#define FIRSTFAULT_CORRELATE_CLOCK_ALIGN_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/clock_facts.h"
#include "correlate/clock_solve.h"
#include "correlate/incident.h"

namespace firstfault {

struct ClockEstimate {
  std::string host;
  bool aligned = false;
  std::string method;       // by which facts; or, as a sentence's end, the reason why not
  std::string_view reason;  // why not aligned: no_stamps, no_facts, one_sided, contradiction; else empty
  int64_t offset_ns = 0;    // the best guess, zone included
  // The feasible offsets. One of them alone where the reason is one_sided.
  std::optional<int64_t> low_ns, high_ns;
  int64_t zone_ns = 0;                      // the part of the offset that another time zone makes
  std::vector<std::string> contradictions;  // facts that were left out and why; stamps that go back
};

// Instants [earliest_ns, latest_ns] of job time.
struct Interval {
  int64_t earliest_ns = 0, latest_ns = 0;
};

// An end that is not known is absent.
struct TimeBounds {
  std::optional<int64_t> earliest_ns, latest_ns;
};

enum class Order : uint8_t { kBefore, kAfter, kUnordered };
// Before only if the intervals do not touch.
Order Compare(const Interval& a, const Interval& b);

class JobClock {
 public:
  explicit JobClock(const Incident& incident);  // which must outlive it

  // One entry a host, in order of names. Empty where fewer than two hosts have wall-clock stamps.
  const std::vector<ClockEstimate>& estimates() const { return estimates_; }
  // The host whose clock is the job's; empty where no two clocks could be tied together.
  const std::string& reference() const { return reference_; }

  // Nothing is known without a wall-clock stamp, on a clock that is not aligned, or where no stamp of the job
  // has a year. A line without a stamp lies behind the stamped line before it.
  TimeBounds BoundsOf(const PlacedEvent& event) const;

  // Whether the event was there before a line with this stamp, by any clocks that leave no doubt: one clock, two on the
  // timeline, or digits of one host that no zone brings together.
  bool SurelyBefore(const PlacedEvent& event, const ClockReading& stamp, const SourceInfo& source, std::string_view host) const;

  // By how much `a` is earlier than `b`, at least, where one clock tells it.
  std::optional<int64_t> Lead(const PlacedEvent& a, const PlacedEvent& b) const;

 private:
  std::optional<Reading> ReadingOf(const PlacedEvent& event) const;
  std::optional<Interval> OnTimeline(const Reading& reading) const;
  void State(const Incident& incident);

  StampReader reader_;
  ClockFacts facts_;
  bool single_ = false;  // only one clock was seen
  ClockSolution solution_;
  std::string reference_;
  std::vector<ClockEstimate> estimates_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CLOCK_ALIGN_H_
