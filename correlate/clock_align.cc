#include "correlate/clock_align.h"

#include <algorithm>
#include <map>
#include <set>

#include "correlate/evidence.h"
#include "correlate/parse/stamp.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Ranks in lock-step enter a collective, and print a step, within this of each other: the time of a slow step.
// Wider than any seen between healthy ranks, narrow against the clock errors that matter to a reader.
constexpr int64_t kLockStepNs = 2 * kSecondNs;
// Zones are whole quarters of an hour: an offset this close to one is a zone, not an error.
constexpr int64_t kQuarterHourNs = 900 * kSecondNs;

// What happened once for the job and was stamped on several hosts: "pg <group> <seq>", "step <n>".
using Facts = std::map<std::string, std::map<std::string, std::vector<int64_t>>>;  // fact -> host -> times

bool IsWall(const Stamp& stamp) {
  return stamp.clock == Stamp::Clock::kWallUtc || stamp.clock == Stamp::Clock::kWallLocal;
}

// Days of the stamp's own year: a year-less stamp compares with others only so.
int64_t WithinYear(const Stamp& stamp, const SourceInfo& source) {
  int64_t ns = stamp.ns;
  if (stamp.clock == Stamp::Clock::kWallLocal && source.zone_minutes) ns -= int64_t{*source.zone_minutes} * 60 * kSecondNs;
  const int64_t day = ns / kSecondNs / 86400;
  // Find the year by its length; years of logs are few.
  int64_t year = 1970 + day / 366;
  while (DaysFromCivil(year + 1, 1, 1) <= day) ++year;
  int64_t day_of_year = day - DaysFromCivil(year, 1, 1);
  // 1 March falls a day later in leap years: count as if every year had a 29 February.
  const bool leap = DaysFromCivil(year + 1, 1, 1) - DaysFromCivil(year, 1, 1) == 366;
  if (!leap && day_of_year >= 59) ++day_of_year;
  return day_of_year * 86400 * kSecondNs + (ns - day * 86400 * kSecondNs);
}

int64_t Median(std::vector<int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Facts CollectFacts(const Incident& incident, std::set<std::string>* hosts) {
  Facts facts;
  std::map<const SourceDigest*, std::string> host_of;
  for (const PlacedEvent& event : incident.events) {
    if (event.place.host.empty()) continue;
    host_of.try_emplace(event.source, event.place.host);
    const std::optional<Stamp>& stamp = event.event->prefix.stamp;
    if (!stamp || !IsWall(*stamp)) continue;
    hosts->insert(event.place.host);
    const Fields& fields = event.event->fields;
    const auto ran_ms = ParseNumber<int64_t>(FieldOf(fields, "elapsed_ms"));
    const std::string_view seq = FieldOf(fields, "seq");
    if (!IsWaiter(event.id()) || !ran_ms || *ran_ms < 0 || seq.empty()) continue;
    facts[Cat("collective ", event.event->prefix.group, " ", seq)][event.place.host].push_back(
        WithinYear(*stamp, event.source->info) - *ran_ms * 1'000'000);
  }
  for (const SourceDigest* source : incident.sources) {
    std::string host = source->info.host ? ShortHost(source->info.host->value) : "";
    if (host.empty() && host_of.contains(source)) host = host_of[source];
    if (host.empty()) continue;
    for (const Progress& progress : source->progress) {
      if (progress.bar || !progress.stamp || !IsWall(*progress.stamp)) continue;
      hosts->insert(host);
      facts[Cat("step ", progress.step)][host].push_back(WithinYear(*progress.stamp, source->info));
    }
  }
  return facts;
}

}  // namespace

std::optional<int64_t> UnixTime(const Stamp& stamp, const SourceInfo& source) {
  if (stamp.clock == Stamp::Clock::kWallUtc) return stamp.year_known ? std::optional(stamp.ns) : std::nullopt;
  if (stamp.clock != Stamp::Clock::kWallLocal || !stamp.year_known || !source.zone_minutes) return std::nullopt;
  return stamp.ns - int64_t{*source.zone_minutes} * 60 * kSecondNs;
}

std::vector<ClockEstimate> AlignClocks(const Incident& incident) {
  std::set<std::string> hosts;
  const Facts facts = CollectFacts(incident, &hosts);
  if (hosts.size() < 2) return {};
  std::map<std::string, size_t> shared;  // facts that a host has in common with others
  for (const auto& [name, by_host] : facts) {
    if (by_host.size() < 2) continue;
    for (const auto& [host, times] : by_host) ++shared[host];
  }
  std::string reference;
  for (const std::string& host : hosts) {
    if (reference.empty() || shared[host] > shared[reference]) reference = host;
  }
  std::vector<ClockEstimate> out;
  for (const std::string& host : hosts) {
    ClockEstimate estimate;
    estimate.host = host;
    std::vector<int64_t> differences;
    bool collective = false;
    for (const auto& [name, by_host] : facts) {
      const auto here = by_host.find(host);
      const auto there = by_host.find(reference);
      if (here == by_host.end() || there == by_host.end()) continue;
      differences.push_back(Median(here->second) - Median(there->second));
      collective |= name.starts_with("collective");
    }
    if (host == reference) {
      estimate.aligned = shared[host] > 0;
      estimate.method = estimate.aligned ? "reference of the job's time" : "no fact in common with other hosts";
    } else if (differences.empty()) {
      estimate.method = "no collective or training step in common with other hosts";
    } else {
      const auto [low, high] = std::minmax_element(differences.begin(), differences.end());
      estimate.aligned = true;
      estimate.offset_ns = Median(differences);
      estimate.uncertainty_ns = (*high - *low) / 2 + kLockStepNs;
      estimate.method = collective ? "same collective on both hosts" : "same training step on both hosts";
      const int64_t quarters = (estimate.offset_ns + (estimate.offset_ns < 0 ? -kQuarterHourNs : kQuarterHourNs) / 2) / kQuarterHourNs;
      if (quarters != 0 && std::abs(estimate.offset_ns - quarters * kQuarterHourNs) <= estimate.uncertainty_ns) {
        estimate.method += ", probably another time zone";
      }
    }
    out.push_back(std::move(estimate));
  }
  return out;
}

}  // namespace firstfault
