#include "tests/golden/baselines.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "correlate/parse/prefix.h"
#include "correlate/parse/stamp.h"
#include "correlate/text.h"

namespace firstfault::golden {
namespace {

constexpr size_t kHabitLines = 64;
constexpr int32_t kRanksMax = 100'000;

struct BadLine {
  std::optional<int64_t> time;  // of the line, or of the stamped line before it
  Prefix prefix;
  std::string text;
  const SourceInfo* info = nullptr;
};

// Wall clocks only, taken at face value, as a naive tool takes them. Year-less ones are put into `year`.
std::optional<int64_t> WallTime(const Stamp& stamp, int64_t year) {
  if (stamp.clock != Stamp::Clock::kWallUtc && stamp.clock != Stamp::Clock::kWallLocal) return std::nullopt;
  if (stamp.year_known) return stamp.ns;
  return stamp.ns + DaysFromCivil(year, 1, 1) * 86'400 * kSecondNs;
}

std::vector<std::string_view> Lines(const std::string& text) { return Split(text, '\n'); }

PrefixHabits HabitsOf(const std::vector<std::string_view>& lines) {
  return LearnHabits(
      {lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), kHabitLines))});
}

// The year that most logs of the folder are from: the largest one printed.
int64_t YearOf(const std::vector<SourceText>& sources) {
  int64_t ns = 0;
  for (const SourceText& source : sources) {
    for (const std::string_view line : Lines(source.text)) {
      const auto stamp = Peel(line).prefix.stamp;
      if (stamp && stamp->year_known) ns = std::max(ns, WallTime(*stamp, 1970).value_or(0));
    }
  }
  return 1970 + ns / (int64_t{31'556'952} * kSecondNs);  // a mean year
}

Blame PlaceOf(const BadLine& line, const Incident& incident) {
  Blame out;
  out.text = line.text;
  out.host = !line.prefix.host.empty() ? line.prefix.host : line.info->host ? line.info->host->value : "";
  out.rank = line.prefix.rank ? line.prefix.rank : line.prefix.task;
  if (!out.rank && line.info->rank) out.rank = ParseNumber<int32_t>(line.info->rank->value);
  std::optional<int32_t> local = line.prefix.local_rank;
  if (!local && line.info->local_rank) local = ParseNumber<int32_t>(line.info->local_rank->value);
  for (const auto& [rank, facts] : incident.ranks) {
    const bool host_fits = out.host.empty() || ShortHost(facts.host) == ShortHost(out.host);
    const bool is_local = local && facts.local_rank == local;
    const bool is_process = line.prefix.pid && facts.pid == line.prefix.pid;
    if (!out.rank && host_fits && (is_local || is_process)) out.rank = rank;
  }
  if (out.host.empty() && out.rank) {
    const auto facts = incident.ranks.find(*out.rank);
    if (facts != incident.ranks.end()) out.host = facts->second.host;
  }
  return out;
}

}  // namespace

std::optional<Blame> EarliestBadLine(const std::vector<SourceText>& sources, const Incident& incident) {
  static const RE2* const bad =
      new RE2("(?i)error|fail|exception|fatal|traceback|killed|timed? ?out|abort|panic|segfault");
  const int64_t year = YearOf(sources);
  std::optional<BadLine> first;
  for (const SourceText& source : sources) {
    const std::vector<std::string_view> lines = Lines(source.text);
    const PrefixHabits habits = HabitsOf(lines);
    std::optional<int64_t> time;
    for (const std::string_view line : lines) {
      const Peeled peeled = Peel(line, habits);
      if (peeled.prefix.stamp) {
        if (const auto stamped = WallTime(*peeled.prefix.stamp, year)) time = stamped;
      }
      if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *bad)) continue;
      const bool earlier = !first || (time && (!first->time || *time < *first->time));
      if (earlier) first = BadLine{time, peeled.prefix, std::string(line), &source.info};
    }
  }
  if (!first) return std::nullopt;
  return PlaceOf(*first, incident);
}

std::optional<Blame> TorchrunRoot(const Incident& incident) {
  for (const PlacedEvent& placed : incident.events) {
    for (const ElasticReport& report : placed.event->reports) {
      if (report.is_root) return Blame{report.rank, report.host, "torchrun: Root Cause"};
    }
  }
  return std::nullopt;
}

std::optional<Blame> MissingRank(const Incident& incident) {
  std::set<int32_t> reported, known;
  for (const PlacedEvent& placed : incident.events) {
    if (placed.id() == "pg.watchdog_timeout" && placed.place.rank) reported.insert(*placed.place.rank);
  }
  if (reported.empty()) return std::nullopt;
  for (const auto& [rank, facts] : incident.ranks) known.insert(rank);
  for (int32_t rank = 0; rank < std::min(incident.world_size.value_or(0), kRanksMax); ++rank)
    known.insert(rank);
  std::vector<int32_t> missing;
  std::set_difference(known.begin(), known.end(), reported.begin(), reported.end(),
                      std::back_inserter(missing));
  if (missing.size() != 1) return std::nullopt;
  const auto facts = incident.ranks.find(missing.front());
  return Blame{missing.front(), facts == incident.ranks.end() ? "" : facts->second.host, "missing rank"};
}

}  // namespace firstfault::golden
