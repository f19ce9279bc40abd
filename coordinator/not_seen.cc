// The section that says what a report does not rest on. One function a kind of gap, in a table.
#include <string_view>

#include "coordinator/fold.h"
#include "coordinator/report_document.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kNamesShown = 3;
using Items = std::vector<std::string>;

void MissingHosts(const v1::Completeness& seen, Items* out) {
  if (seen.hosts_missing().empty()) return;
  out->push_back(Cat("No log of ", seen.hosts_missing_size() == 1 ? "host " : "hosts ",
                     FoldHosts({seen.hosts_missing().begin(), seen.hosts_missing().end()}), "."));
}

void MissingRanks(const v1::Completeness& seen, Items* out) {
  if (!seen.has_world_size() || seen.ranks_seen() >= seen.world_size()) return;
  out->push_back(
      Cat("Only ", seen.ranks_seen(), " of ", Counted(seen.world_size(), "rank"), " left a line."));
}

// Merged and launcher logs speak for many ranks; a log of one writer should say whose it is.
void NamelessSources(const v1::Completeness& seen, Items* out) {
  constexpr std::string_view kOneWriter[] = {"rank_log", "kernel_log", "unknown"};
  Items names;
  for (const v1::SourceView& source : seen.sources()) {
    bool one_writer = false;
    for (const std::string_view kind : kOneWriter) one_writer |= source.kind() == kind;
    if (one_writer && !source.has_host() && !source.has_rank()) names.push_back(source.path());
  }
  if (names.empty()) return;
  out->push_back(Cat(Counted(static_cast<int64_t>(names.size()), "file"),
                     names.size() == 1 ? " names" : " name",
                     " neither host nor rank: ", FoldNames(names, kNamesShown), ". --map FILE can say it."));
}

void CutLines(const v1::Completeness& seen, Items* out) {
  int64_t cut = 0;
  for (const v1::SourceView& source : seen.sources()) cut += source.lines_cut();
  if (cut > 0) out->push_back(Cat(Counted(cut, "line"), " longer than the limit: read up to it."));
}

void UnalignedClocks(const v1::Completeness& seen, Items* out) {
  for (const v1::HostClock& clock : seen.clocks()) {
    if (clock.aligned()) continue;
    out->push_back(Cat(clock.host(), "'s clock cannot be compared with the others",
                       clock.method().empty() ? "" : ": ", clock.method(), "."));
  }
}

void InputProblems(const v1::Completeness& seen, Items* out) {
  out->insert(out->end(), seen.input_problems().begin(), seen.input_problems().end());
}

constexpr void (*kGaps[])(const v1::Completeness&, Items*) = {MissingHosts, MissingRanks,    NamelessSources,
                                                              CutLines,     UnalignedClocks, InputProblems};

}  // namespace

std::vector<std::string> NotSeen(const v1::Report& report) {
  Items out;
  for (const auto gap : kGaps) gap(report.completeness(), &out);
  return out;
}

}  // namespace firstfault
