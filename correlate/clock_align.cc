#include "correlate/clock_align.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "correlate/parse/stamp.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Zones are whole quarters of an hour apart, mostly whole hours. An offset near one is a zone and a skew.
struct ZoneRow {
  int64_t unit_ns;
  int64_t skew_ns_max;
};
constexpr ZoneRow kZones[] = {
    // A clock may be minutes off; one that is off by hours and minutes is set to another zone and minutes
    // off.
    {3600 * kSecondNs, 300 * kSecondNs},
    // Half and quarter hours are within reach of a bad clock: only with a skew that a synchronised one has.
    {900 * kSecondNs, 2 * kSecondNs},
};
constexpr int64_t kZoneNsMax = 26 * 3600 * kSecondNs;  // UTC-12 to UTC+14

int64_t ZonePart(int64_t offset_ns) {
  if (std::abs(offset_ns) > kZoneNsMax + kZones[0].skew_ns_max) return 0;
  for (const ZoneRow& row : kZones) {
    const int64_t units = (offset_ns + (offset_ns < 0 ? -row.unit_ns : row.unit_ns) / 2) / row.unit_ns;
    if (units != 0 && std::abs(offset_ns - units * row.unit_ns) <= row.skew_ns_max)
      return units * row.unit_ns;
  }
  return 0;
}

struct GapRow {
  ClockGap gap;
  std::string_view reason, sentence;
};
constexpr GapRow kGaps[] = {
    {ClockGap::kNone, "", ""},
    {ClockGap::kNoFacts, "no_facts", "no event in common with other hosts"},
    {ClockGap::kOneSided, "one_sided", "what it has in common with other hosts bounds it on one side only"},
    {ClockGap::kContradiction, "contradiction", "what it has in common with other hosts contradicts itself"},
};

const GapRow& RowOf(ClockGap gap) {
  return *std::find_if(std::begin(kGaps), std::end(kGaps), [&](const GapRow& row) { return row.gap == gap; });
}

std::string_view NameOf(size_t kind) { return firstfault::RowOf(static_cast<ClockFactKind>(kind)).name; }

std::string MethodOf(const SolvedClock& clock) {
  std::string out;
  for (const size_t kind : clock.kinds) out += Cat(out.empty() ? "" : ", ", NameOf(kind));
  return out;
}

// Of two clocks of a host (stamps with and without a zone), the one that says more.
bool SaysMore(const ClockEstimate& a, const ClockEstimate& b) {
  if (a.aligned != b.aligned) return a.aligned;
  if (a.low_ns.has_value() + a.high_ns.has_value() != b.low_ns.has_value() + b.high_ns.has_value()) {
    return a.low_ns.has_value() + a.high_ns.has_value() > b.low_ns.has_value() + b.high_ns.has_value();
  }
  return a.aligned && *a.high_ns - *a.low_ns < *b.high_ns - *b.low_ns;
}

}  // namespace

Order Compare(const Interval& a, const Interval& b) {
  if (a.latest_ns < b.earliest_ns) return Order::kBefore;
  return b.latest_ns < a.earliest_ns ? Order::kAfter : Order::kUnordered;
}

JobClock::JobClock(const Incident& incident) : reader_(incident) {
  facts_ = CollectClockFacts(incident, reader_);
  single_ = std::count(facts_.seen.begin(), facts_.seen.end(), true) == 1;
  if (facts_.seen.empty()) return;
  solution_ = SolveClocks(facts_.seen.size(), facts_.reference, facts_.facts);
  State(incident);
}

void JobClock::State(const Incident& incident) {
  const std::vector<Clock>& clocks = reader_.clocks();
  if (solution_.clocks[facts_.reference].gap == ClockGap::kNone) reference_ = clocks[facts_.reference].host;
  std::map<std::string, ClockEstimate> by_host;
  for (size_t i = 0; i < clocks.size(); ++i) {
    if (!facts_.seen[i]) continue;
    const SolvedClock& solved = solution_.clocks[i];
    ClockEstimate estimate;
    estimate.host = clocks[i].host;
    estimate.aligned = solved.gap == ClockGap::kNone;
    estimate.reason = RowOf(solved.gap).reason;
    estimate.method = estimate.aligned ? MethodOf(solved) : std::string(RowOf(solved.gap).sentence);
    if (estimate.aligned && i == facts_.reference) estimate.method = "reference of the job's time";
    if (i != facts_.reference) {
      estimate.low_ns = solved.low;
      estimate.high_ns = solved.high;
    } else if (estimate.aligned) {
      estimate.low_ns = estimate.high_ns = 0;
    }
    if (estimate.aligned) {
      estimate.offset_ns = solved.likely;
      const bool zone_open = !clocks[i].zoned || !clocks[facts_.reference].zoned;
      if (zone_open) estimate.zone_ns = ZonePart(solved.likely);
    }
    std::set<std::string> left_out;
    for (const DroppedFacts& dropped : solved.dropped) {
      const bool itself = !dropped.against || *dropped.against == dropped.kind;
      left_out.insert(Cat("\"", NameOf(dropped.kind), "\" contradicts ",
                          itself ? "itself" : Cat("\"", NameOf(*dropped.against), "\""),
                          " and was left out"));
    }
    if (facts_.backwards[i]) left_out.insert("stamps go back in time within one log");
    estimate.contradictions.assign(left_out.begin(), left_out.end());
    const auto [it, fresh] = by_host.try_emplace(estimate.host, estimate);
    if (!fresh && SaysMore(estimate, it->second)) it->second = std::move(estimate);
  }
  if (by_host.size() < 2) return;
  // Hosts whose logs were read, and in which no line has a wall-clock stamp.
  for (const PlacedEvent& event : incident.events) {
    if (event.place.host.empty()) continue;
    const auto [it, fresh] = by_host.try_emplace(event.place.host);
    if (!fresh) continue;
    it->second.host = event.place.host;
    it->second.reason = "no_stamps";
    it->second.method = "its lines have no wall-clock stamps";
  }
  for (auto& [host, estimate] : by_host) estimates_.push_back(std::move(estimate));
}

std::optional<Interval> JobClock::OnTimeline(const Reading& reading) const {
  // A clock that contradicts itself may be two under one name: which of them made this stamp is not known.
  const bool trusted = !facts_.backwards[reading.clock] && solution_.clocks[reading.clock].dropped.empty();
  if (!reader_.year_known() || !trusted) return std::nullopt;
  // A single clock is the job's; of several, one that nothing ties to others is nobody's.
  if (reading.clock == facts_.reference && (single_ || !reference_.empty()))
    return Interval{reading.first_ns, reading.last_ns};
  const SolvedClock& clock = solution_.clocks[reading.clock];
  if (clock.gap != ClockGap::kNone) return std::nullopt;
  const int64_t drift =
      DriftOver(reading.first_ns - clock.likely - solution_.end_ns) + DriftOver(*clock.high - *clock.low);
  return Interval{reading.first_ns - *clock.high - drift, reading.last_ns - *clock.low + drift};
}

std::optional<Reading> JobClock::ReadingOf(const PlacedEvent& event) const {
  const std::optional<Stamp>& stamp = event.event->prefix.stamp;
  return stamp ? reader_.Read(*stamp, event.source->info, event.place.host) : std::nullopt;
}

TimeBounds JobClock::BoundsOf(const PlacedEvent& event) const {
  if (const auto reading = ReadingOf(event)) {
    const auto interval = OnTimeline(*reading);
    return interval ? TimeBounds{interval->earliest_ns, interval->latest_ns} : TimeBounds{};
  }
  const std::optional<Stamp>& before = event.event->stamp_before;
  const auto reading = before ? reader_.Read(*before, event.source->info, event.place.host) : std::nullopt;
  const auto interval = reading ? OnTimeline(*reading) : std::nullopt;
  return interval ? TimeBounds{interval->earliest_ns, std::nullopt} : TimeBounds{};
}

bool JobClock::SurelyBefore(const PlacedEvent& event, const ClockReading& stamp, const SourceInfo& source,
                            std::string_view host) const {
  const auto from = ReadingOf(event), to = reader_.Read(stamp, source, host);
  if (!from || !to) return false;
  if (from->clock == to->clock) return from->last_ns < to->first_ns;
  const auto here = OnTimeline(*from), there = OnTimeline(*to);
  if (here && there) return Compare(*here, *there) == Order::kBefore;
  return event.place.host == host && reader_.year_known() && to->first_ns - from->last_ns > kZoneNsMax;
}

std::optional<int64_t> JobClock::Lead(const PlacedEvent& a, const PlacedEvent& b) const {
  const std::optional<Stamp>& later = b.event->prefix.stamp ? b.event->prefix.stamp : b.event->stamp_before;
  const auto from = ReadingOf(a);
  const auto to = later ? reader_.Read(*later, b.source->info, b.place.host) : std::nullopt;
  if (!from || !to || from->clock != to->clock || to->first_ns <= from->last_ns) return std::nullopt;
  return to->first_ns - from->first_ns;
}

}  // namespace firstfault
