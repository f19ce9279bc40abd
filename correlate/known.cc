#include "correlate/known.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "correlate/evidence.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kRanksNamed = 8;

template <typename Ranks>
std::string Named(const Ranks& ranks) {
  std::string out;
  size_t count = 0;
  for (const int32_t rank : ranks) {
    if (count++ < kRanksNamed) out += Cat(out.empty() ? "" : ", ", rank);
  }
  return count > kRanksNamed ? Cat(out, " and ", count - kRanksNamed, " more") : out;
}

// The last training step of each rank that prints its own.
std::map<int32_t, int64_t> LastSteps(const Incident& incident) {
  std::map<int32_t, int64_t> out;
  for (const SourceDigest* source : incident.sources) {
    const auto of_source = source->info.rank ? ParseNumber<int32_t>(source->info.rank->value) : std::nullopt;
    for (const Progress& progress : source->progress) {
      const std::optional<int32_t> rank = progress.rank ? progress.rank : of_source;
      if (!progress.bar && rank) out[*rank] = progress.step;
    }
  }
  return out;
}

std::optional<int64_t> LastStep(const Incident& incident) {
  std::optional<int64_t> out;
  for (const SourceDigest* source : incident.sources) {
    for (const Progress& progress : source->progress) {
      if (!progress.bar) out = std::max(out.value_or(progress.step), progress.step);
    }
  }
  return out;
}

// Ranks in step print the same number give or take the one under way, and loggers flush every few lines.
constexpr int64_t kStepsApart = 3;
constexpr size_t kRanksMin = 3;

std::string Behind(const Incident& incident) {
  const std::map<int32_t, int64_t> last = LastSteps(incident);
  if (last.size() < kRanksMin) return "";
  const auto slowest = std::min_element(last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  int64_t others = INT64_MAX;
  for (const auto& [rank, step] : last) {
    if (rank != slowest->first) others = std::min(others, step);
  }
  if (others - slowest->second < kStepsApart) return "";
  return Cat("rank ", slowest->first, " stops at step ", slowest->second, " while all others go on to step ", others, " or later");
}

// Whether the groups that wait have all ranks as members. In a smaller one, ranks are numbered anew.
bool WaitsAreOfTheJob(const Incident& incident) {
  return std::none_of(incident.events.begin(), incident.events.end(), [](const PlacedEvent& event) {
    const Fields& fields = event.event->fields;
    const auto in_group = event.event->prefix.group_rank ? event.event->prefix.group_rank : ParseNumber<int32_t>(FieldOf(fields, "group_rank"));
    return IsPointToPoint(FieldOf(fields, "op")) || (event.place.rank && in_group && *in_group != *event.place.rank);
  });
}

void Waits(const Incident& incident, std::vector<std::string>* out) {
  std::map<std::pair<std::string_view, std::string_view>, std::set<int32_t>> ranks_by_work;
  for (const PlacedEvent& event : incident.events) {
    const std::string_view op = FieldOf(event.event->fields, "op"), seq = FieldOf(event.event->fields, "seq");
    if (event.place.rank && !op.empty() && !seq.empty()) ranks_by_work[{seq, op}].insert(*event.place.rank);
  }
  const int32_t expected = std::max({incident.world_size.value_or(0), incident.ranks_expected, static_cast<int32_t>(incident.ranks.size())});
  const bool all_members = WaitsAreOfTheJob(incident);
  constexpr size_t kWorksMax = 3;
  for (const auto& [work, ranks] : ranks_by_work) {
    if (out->size() >= kWorksMax) return;
    std::string line = Cat(ranks.size(), " of ", expected, " ranks waited in ", work.second, ", number ", work.first, " of their group");
    if (!all_members) {
      out->push_back(line + ".");
      continue;
    }
    std::vector<int32_t> missing;
    for (int32_t rank = 0; rank < expected && missing.size() <= 1000; ++rank) {
      if (!ranks.contains(rank)) missing.push_back(rank);
    }
    line += missing.empty() ? ": nobody is missing in it." : Cat("; not seen in it: rank ", Named(missing), ".");
    out->push_back(std::move(line));
  }
}

void FirstEnds(const Incident& incident, std::vector<std::string>* out) {
  constexpr size_t kEndsMax = 3;
  size_t count = 0;
  for (const EndReport& end : incident.ends) {
    if (!end.first || !end.rank || count++ >= kEndsMax) continue;
    out->push_back(Cat("The launcher", end.host.empty() ? "" : Cat(" on ", end.host), " saw rank ", *end.rank, " end first",
                       end.exit_code ? Cat(", exit code ", *end.exit_code) : "", "."));
  }
}

void Steps(const Incident& incident, std::vector<std::string>* out) {
  const std::string behind = Behind(incident);
  if (const auto step = LastStep(incident)) out->push_back(Cat("The last step seen is ", *step, behind.empty() ? "" : Cat("; ", behind), "."));
}

// A launcher saw its processes end with code 0. That alone is no success of the job, but where nothing failed it is
// an end that was seen.
constexpr std::string_view kGoodEnd = "ds.exit_ok";

bool EndedWell(const Incident& incident) {
  const auto index = incident.catalogue->IndexOf(kGoodEnd);
  return std::any_of(incident.sources.begin(), incident.sources.end(), [&](const SourceDigest* source) {
    return std::any_of(source->facts.begin(), source->facts.end(), [&](const Event& fact) { return fact.signature == index; });
  });
}

}  // namespace

std::vector<std::string> WhatIsKnown(const Incident& incident) {
  std::vector<std::string> out;
  Waits(incident, &out);
  FirstEnds(incident, &out);
  Steps(incident, &out);
  return out;
}

RunEnd EndOf(const Incident& incident) {
  RunEnd out;
  out.completed = incident.success || incident.steps_done || EndedWell(incident);
  if (out.completed) {
    out.sentence = "the run completed";
    return out;
  }
  out.behind = Behind(incident);
  const auto step = LastStep(incident);
  out.sentence = Cat("the end of the run was not seen", step ? Cat(" (last step ", *step, ")") : "", ": killed, hung or still running?");
  return out;
}

}  // namespace firstfault
