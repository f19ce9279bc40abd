// The section that says what a report does not rest on. One function a kind of gap, in a table.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "coordinator/fold.h"
#include "coordinator/report_document.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kNamesShown = 3;
using Items = std::vector<std::string>;

void MissingHosts(const v1::Report& report, Items* out) {
  const auto& missing = report.completeness().hosts_missing();
  if (missing.empty()) return;
  out->push_back(Cat("No log of ", missing.size() == 1 ? "host " : "hosts ",
                     FoldHosts({missing.begin(), missing.end()}), "."));
}

void MissingRanks(const v1::Report& report, Items* out) {
  const v1::Completeness& seen = report.completeness();
  if (!seen.has_world_size() || seen.ranks_seen() >= seen.world_size()) return;
  out->push_back(
      Cat("Only ", seen.ranks_seen(), " of ", Counted(seen.world_size(), "rank"), " left a line."));
}

// Merged and launcher logs speak for many ranks, and so does a log whose lines name ranks; any other should
// say whose it is. The only log of a job is everybody's.
void NamelessSources(const v1::Report& report, Items* out) {
  constexpr std::string_view kOneWriter[] = {"rank_log", "kernel_log", "unknown"};
  const auto& sources = report.completeness().sources();
  if (sources.size() == 1) return;
  std::set<std::string_view> with_ranks;
  for (const v1::RankView& rank : report.ranks()) {
    if (rank.has_rank()) with_ranks.insert(rank.event().source());
  }
  Items names;
  for (const v1::SourceView& source : sources) {
    const bool one_writer =
        std::find(std::begin(kOneWriter), std::end(kOneWriter), source.kind()) != std::end(kOneWriter);
    const bool named = source.has_host() || source.has_rank() || with_ranks.contains(source.path());
    if (one_writer && !named) names.push_back(source.path());
  }
  if (names.empty()) return;
  out->push_back(Cat(Counted(static_cast<int64_t>(names.size()), "file"),
                     names.size() == 1 ? " names" : " name",
                     " neither host nor rank: ", FoldNames(names, kNamesShown), ". --map FILE can say it."));
}

void CutLines(const v1::Report& report, Items* out) {
  int64_t cut = 0;
  for (const v1::SourceView& source : report.completeness().sources()) cut += source.lines_cut();
  if (cut > 0) out->push_back(Cat(Counted(cut, "line"), " longer than the limit: read up to it."));
}

// Order between hosts matters only where several places are left: a named one was told by its lines.
void DroppedEvents(const v1::Report& report, Items* out) {
  for (const v1::SourceView& source : report.completeness().sources()) {
    if (source.events_dropped() == 0) continue;
    out->push_back(Cat(source.path(), " has more different events than the limit: ", Counted(source.events_dropped(), "later one"),
                       " did not count. Give the part around the failure alone."));
  }
}

void UnalignedClocks(const v1::Report& report, Items* out) {
  if (report.verdict() != "undetermined" || report.suspects_size() < 2) return;
  std::map<std::string, Items> hosts_by_reason;
  for (const v1::HostClock& clock : report.completeness().clocks()) {
    if (!clock.aligned()) hosts_by_reason[clock.method()].push_back(clock.host());
  }
  for (const auto& [reason, hosts] : hosts_by_reason) {
    out->push_back(hosts.size() == 1 ? Cat(hosts[0], "'s clock cannot be compared with the others: ", reason, ".")
                                     : Cat("The clocks of ", FoldHosts(hosts), " cannot be compared with the others: ", reason, "."));
  }
}

void InputProblems(const v1::Report& report, Items* out) {
  const auto& problems = report.completeness().input_problems();
  out->insert(out->end(), problems.begin(), problems.end());
}

constexpr void (*kGaps[])(const v1::Report&, Items*) = {MissingHosts, MissingRanks,    NamelessSources,
                                                        CutLines, DroppedEvents,     UnalignedClocks, InputProblems};

}  // namespace

std::vector<std::string> NotSeen(const v1::Report& report) {
  Items out;
  for (const auto gap : kGaps) gap(report, &out);
  return out;
}

}  // namespace firstfault
