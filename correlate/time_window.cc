#include "correlate/time_window.h"

#include <algorithm>

#include "correlate/parse/stamp.h"
#include "correlate/text.h"

namespace firstfault {

TimeWindow::TimeWindow(std::optional<int64_t> since_ns, std::optional<int64_t> until_ns,
                       const std::vector<const SourceDigest*>& sources)
    : since_ns_(since_ns), until_ns_(until_ns) {
  if (!since_ns_ && !until_ns_) return;
  const auto see = [&](const std::optional<ClockReading>& stamp) {
    const bool wall = stamp && (stamp->clock == Stamp::Clock::kWallUtc || stamp->clock == Stamp::Clock::kWallLocal);
    if (wall && stamp->year_known) around_ns_ = std::max(around_ns_.value_or(0), stamp->ns);
  };
  for (const SourceDigest* source : sources) {
    for (const Event& event : source->events) see(event.prefix.stamp);
    for (const Progress& progress : source->progress) see(progress.stamp);
  }
}

bool TimeWindow::Holds(const Event& event, const SourceInfo& source) {
  if (!since_ns_ && !until_ns_) return true;
  const std::optional<Stamp>& stamp = event.prefix.stamp ? event.prefix.stamp : event.stamp_before;
  const std::optional<int64_t> around = around_ns_ ? around_ns_ : source.modified_ns;
  const bool wall = stamp && stamp->clock != Stamp::Clock::kBoot && stamp->clock != Stamp::Clock::kDelta;
  if (!wall || (!stamp->year_known && (!around || *around < 0 || stamp->ns < 0))) {
    ++unjudged_;
    return true;
  }
  int64_t ns = stamp->year_known ? stamp->ns : InYearNear(stamp->ns, *around);
  if (stamp->clock == Stamp::Clock::kWallLocal) {
    zoneless_ += !source.zone_minutes;
    ns -= int64_t{source.zone_minutes.value_or(0)} * 60 * kSecondNs;
  }
  return !(since_ns_ && ns < *since_ns_) && !(until_ns_ && ns > *until_ns_);
}

std::vector<std::string> TimeWindow::Sentences() const {
  std::vector<std::string> out;
  if (unjudged_ > 0) out.push_back(Cat(unjudged_, " events have no date that --since and --until could judge, and were kept"));
  if (zoneless_ > 0) {
    out.push_back(Cat(zoneless_, " events have stamps without a zone, and --since and --until took them for UTC: name the zone with --timezone"));
  }
  return out;
}

}  // namespace firstfault
