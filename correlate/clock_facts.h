// clock_facts.h: what the logs say about the clocks of their hosts, as bounds.
//
// Why:     hosts that worked together left lines that causality ties: nobody finishes a step that a peer has
//          not begun, a closed connection is noticed after the process behind it has died.
// Model:   one clock per host and form of stamp (with a zone, or digits without one). Lines are read as
//          intervals of their resolution. Facts are told against one clock that sees most of them, so their
//          number is linear in the lines.
// Units:   nanoseconds by the clock itself; stamps without a year are put next to those that have one.
// Order:   results do not depend on the order of sources.
// Threads: pure functions.
// Source:  shared reference signatures, section 1.2 (delays) and log-prefixes, section 12 (stamps).
#ifndef FIRSTFAULT_CORRELATE_CLOCK_FACTS_H_
#define FIRSTFAULT_CORRELATE_CLOCK_FACTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "correlate/clock_solve.h"
#include "correlate/incident.h"

namespace firstfault {

// The kinds of facts, the most trustworthy first.
enum class ClockFactKind : uint8_t {
  kCommunicatorInit,
  kStep,
  kCollective,
  kDumpSignal,
  kPeerClosed,
  kTeardown,
};

struct ClockFactRow {
  ClockFactKind kind;
  std::string_view name;  // as a report says it
  // How long after the cause the effect may be printed, and how long before it, for the printing alone. No
  // `at_most`: any time later.
  int64_t slack_ns;
  std::optional<int64_t> at_most_ns;
};
const ClockFactRow& RowOf(ClockFactKind kind);

struct Clock {
  std::string host;
  bool zoned = false;  // its stamps are Unix time; else digits of a zone that no line prints
};

// A stamp on its clock: [first_ns, last_ns].
struct Reading {
  size_t clock = 0;
  int64_t first_ns = 0, last_ns = 0;
};

// Puts stamps on clocks. The incident must outlive it.
class StampReader {
 public:
  explicit StampReader(const Incident& incident);
  // nullopt: no wall clock, or no host of the incident.
  std::optional<Reading> Read(const ClockReading& stamp, const SourceInfo& source, std::string_view host) const;
  // Two for each host of the incident, sorted by host.
  const std::vector<Clock>& clocks() const { return clocks_; }
  // Whether any stamp of the incident has a year: else no reading is a date.
  bool year_known() const { return year_known_; }

 private:
  std::vector<Clock> clocks_;
  std::unordered_map<std::string_view, size_t> first_clock_;  // of each host; views into the incident
  bool year_known_ = false;
  int64_t around_ns_ = 0;  // stamps without a year are put as near to this as they can be
};

struct ClockFacts {
  std::vector<bool> seen;  // clocks that have a reading
  std::vector<bool>
      backwards;         // clocks whose stamps go back in time within one log: set, or two under one name
  size_t reference = 0;  // the clock of the job: in the middle of those that most facts tie
  std::vector<OffsetFact> facts;
};

ClockFacts CollectClockFacts(const Incident& incident, const StampReader& reader);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CLOCK_FACTS_H_
