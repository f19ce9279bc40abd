// time_window.h: which events --since and --until leave out.
//
// Why:     most stamps have no year or no zone. Where other lines or the file tell what is missing, such an event is
//          judged like any other; where nothing does, it stays, and the report says how many did.
// Model:   a year is the one that is nearest to the stamps of the job that have one, else to the time of the file. A
//          zone is --timezone's, else UTC. A line without a stamp is judged by the stamped line before it.
// Order:   results do not depend on the order of sources.
// Threads: thread-compatible.
#ifndef FIRSTFAULT_CORRELATE_TIME_WINDOW_H_
#define FIRSTFAULT_CORRELATE_TIME_WINDOW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "correlate/event.h"

namespace firstfault {

class TimeWindow {
 public:
  // Unix time; an absent bound bounds nothing.
  TimeWindow(std::optional<int64_t> since_ns, std::optional<int64_t> until_ns, const std::vector<const SourceDigest*>& sources);
  bool Holds(const Event& event, const SourceInfo& source);
  // What could not be judged, or only by an assumption.
  std::vector<std::string> Sentences() const;

 private:
  const std::optional<int64_t> since_ns_, until_ns_;
  std::optional<int64_t> around_ns_;
  int64_t unjudged_ = 0, zoneless_ = 0;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_TIME_WINDOW_H_
