#include "coordinator/report_document.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

#include "coordinator/fold.h"
#include "coordinator/report_phrases.h"
#include "coordinator/report_words.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Of a traceback the first line says what it is and the last ones say where; a screen has room for these.
constexpr size_t kBlockHead = 2, kBlockTail = 4;
// Groups of ranks with the same role and reason; more than this is a list for programs.
constexpr size_t kRankGroupsMax = 12;
// Hosts whose clocks are off; likewise.
constexpr size_t kClocksMax = 12;

// What a section is written from, and where it goes.
struct SectionWriter {
  const v1::Report& report;
  const DocumentOptions& options;
  std::vector<DocumentBlock>* blocks;

  void Add(BlockKind kind, std::vector<std::string> lines) const {
    if (!lines.empty()) blocks->push_back({kind, std::move(lines)});
  }
  void Add(BlockKind kind, const std::string& line) const {
    if (!line.empty()) blocks->push_back({kind, {line}});
  }
};

// Of a line without a time of its own it is only known what came before it.
std::string StampPhrase(const v1::EventTime& time) { return Cat(time.after() ? "after " : "", time.stamp()); }

template <typename List>
std::vector<std::string> Lines(const List& list) {
  return {list.begin(), list.end()};
}

void AddLine(const SectionWriter& out, const v1::EventView& event, const std::string& remark) {
  std::string place = LinePlace(event);
  if (event.time().has_stamp()) place += Cat("  ", StampPhrase(event.time()));
  if (event.has_rank()) place += Cat("  rank ", event.rank());
  if (event.has_host()) place += Cat("  host ", event.host());
  if (event.count() > 1) place += Cat("  (seen ", event.count(), " times)");
  if (!remark.empty()) place += Cat("  (", remark, ")");
  out.Add(BlockKind::kPlace, place);
  DocumentBlock line{BlockKind::kLog, {event.text()}};
  const size_t size = event.text().size();
  line.kept_begin = std::min(size, static_cast<size_t>(std::max(0, event.match_begin())));
  line.kept_size = std::min(size - line.kept_begin, static_cast<size_t>(std::max(0, event.match_size())));
  out.blocks->push_back(std::move(line));
  if (event.text_lossy()) out.Add(BlockKind::kProse, "Bytes of this line that are not UTF-8 were replaced.");
}

void AddBlock(const SectionWriter& out, const v1::EventView& event) {
  std::vector<std::string> lines = Lines(event.block());
  const size_t kept = kBlockHead + kBlockTail;
  if (!out.options.full && lines.size() > kept + 1) {
    const size_t folded = lines.size() - kept;
    lines.erase(lines.begin() + kBlockHead, lines.end() - kBlockTail);
    lines.insert(lines.begin() + kBlockHead, Cat("... ", folded, " more lines (--full shows them)"));
  }
  if (lines.empty()) return;
  out.Add(BlockKind::kProse, "with these lines around it:");
  out.Add(BlockKind::kLog, std::move(lines));
}

void FirstWarning(const SectionWriter& out) {
  if (!out.report.has_first_warning()) return;
  AddLine(out, out.report.first_warning(),
          out.report.has_warning_lead_ns() ? Cat(DurationPhrase(out.report.warning_lead_ns()), " before the root") : "");
}

void Root(const SectionWriter& out) {
  if (!out.report.has_root()) return;
  if (out.report.has_first_warning() && SameLine(out.report.root(), out.report.first_warning())) {
    out.Add(BlockKind::kProse, "same line");
  } else {
    AddLine(out, out.report.root(), "");
  }
  AddBlock(out, out.report.root());
}

// Where nothing failed no order matters.
void Clocks(const SectionWriter& out) {
  if (out.report.verdict() == "no_failure") return;
  std::vector<std::string> lines = ClockSentences(out.report.completeness());
  if (!out.options.full && lines.size() > kClocksMax) {
    const size_t left_out = lines.size() - kClocksMax;
    lines.resize(kClocksMax);
    lines.push_back(Cat("and ", left_out, " more (--full shows them, --json has every host)"));
  }
  out.Add(BlockKind::kListed, std::move(lines));
}

// Undetermined: the verdict line has said it.
void Why(const SectionWriter& out) {
  if (out.report.verdict() != "undetermined") out.Add(BlockKind::kProse, out.report.why());
}

void WhatIsKnown(const SectionWriter& out) { out.Add(BlockKind::kListed, Lines(out.report.known())); }

void WhatToDo(const SectionWriter& out) {
  const v1::Advice& advice = out.report.advice();
  out.Add(BlockKind::kProse, advice.summary());
  // Undetermined: the changes are what would settle it, which has its own section.
  if (out.report.verdict() != "undetermined") out.Add(BlockKind::kNumbered, Lines(advice.changes()));
}

void HowToProveIt(const SectionWriter& out) {
  if (out.report.verdict() == "named") out.Add(BlockKind::kCommand, out.report.advice().control_command());
}

void Restart(const SectionWriter& out) {
  const v1::Advice& advice = out.report.advice();
  out.Add(BlockKind::kProse, out.report.restart());
  if (advice.resume() != out.report.restart()) out.Add(BlockKind::kProse, advice.resume());
  if (advice.drain_size() > 0)
    out.Add(BlockKind::kProse, Cat("Leave out: ", FoldHosts(Lines(advice.drain())), "."));
}

auto RoleOrder(const std::string& role) {
  return std::find(std::begin(kRankRoleWords), std::end(kRankRoleWords), role) - std::begin(kRankRoleWords);
}

// Everyone but those whom the verdict line names.
void OtherPlaces(const SectionWriter& out) {
  const v1::Report& report = out.report;
  if (report.verdict() == "no_failure") return;
  const bool alike = AllRanksAlike(report);
  struct Group {
    std::vector<int32_t> ranks;
    std::vector<std::string> hosts;  // of entries without a rank
  };
  std::map<std::tuple<std::ptrdiff_t, std::string, std::string>, Group> groups;
  for (const v1::RankView& view : report.ranks()) {
    const v1::Place& named = report.initiator();
    const bool same = view.has_rank() ? named.has_rank() && view.rank() == named.rank()
                                      : !named.has_rank() && named.has_host() && view.host() == named.host();
    if (view.role() == "root" && (alike || same)) continue;
    Group& group = groups[{RoleOrder(view.role()), view.role(), view.because()}];
    if (view.has_rank()) {
      group.ranks.push_back(view.rank());
    } else if (view.has_host()) {
      group.hosts.push_back(view.host());
    }
  }
  std::vector<std::string> lines;
  for (const auto& [key, group] : groups) {
    const auto& [order, role, because] = key;
    const std::string tail = because.empty() ? Cat(": ", role) : Cat(": ", role, " (", because, ")");
    if (!group.ranks.empty()) {
      lines.push_back(Cat(group.ranks.size() == 1 ? "rank " : "ranks ", FoldNumbers(group.ranks), tail));
    }
    if (!group.hosts.empty()) {
      lines.push_back(Cat(group.hosts.size() == 1 ? "host " : "hosts ", FoldHosts(group.hosts), tail));
    }
  }
  if (!out.options.full && lines.size() > kRankGroupsMax) {
    const size_t left_out = lines.size() - kRankGroupsMax;
    lines.resize(kRankGroupsMax);
    lines.push_back(Cat("and ", left_out, " more groups (--full shows them, --json has every rank)"));
  }
  out.Add(BlockKind::kListed, std::move(lines));
}

void Unrelated(const SectionWriter& out) {
  for (const v1::EventView& event : out.report.unrelated()) AddLine(out, event, event.signature());
}

void NotSeenSection(const SectionWriter& out) { out.Add(BlockKind::kListed, NotSeen(out.report)); }

void WouldSettle(const SectionWriter& out) {
  out.Add(BlockKind::kNumbered, Lines(out.report.would_settle()));
}

void Suspects(const SectionWriter& out) {
  if (out.report.verdict() == "named" && out.report.suspects_size() < 2) return;
  std::vector<std::string> lines;
  for (const v1::Place& place : out.report.suspects()) {
    std::string line = PlacePhrase(place);
    for (const v1::Hypothesis& hypothesis : out.report.hypotheses()) {
      if (PlacePhrase(hypothesis.initiator()) != line) continue;
      line += Cat(": ", hypothesis.has_signature() ? hypothesis.signature() : "no line of its own",
                  ", probability ", Fixed(hypothesis.probability(), 2));
      break;
    }
    lines.push_back(std::move(line));
  }
  out.Add(BlockKind::kNumbered, std::move(lines));
}

void Timeline(const SectionWriter& out) {
  if (!out.options.explain) return;
  std::vector<std::string> lines;
  for (const v1::TimelineStep& step : out.report.timeline()) {
    lines.push_back(Cat(step.time().has_stamp() ? Cat(StampPhrase(step.time()), "  ") : "",
                        PlacePhrase(step.place()), ": ", step.what(), " (", step.reason(), ")"));
  }
  out.Add(BlockKind::kNumbered, std::move(lines));
}

void Hypotheses(const SectionWriter& out) {
  if (!out.options.explain) return;
  int number = 0;
  for (const v1::Hypothesis& hypothesis : out.report.hypotheses()) {
    out.Add(BlockKind::kProse,
            Cat("Hypothesis ", ++number, ": ",
                hypothesis.has_initiator() ? Cat(PlacePhrase(hypothesis.initiator()), ", ")
                : hypothesis.statement().empty() ? "all ranks alike, " : "",
                hypothesis.has_signature() ? Cat(hypothesis.signature(), ", ") : "", hypothesis.class_(),
                ", probability ", Fixed(hypothesis.probability(), 2),
                hypothesis.statement().empty() ? "" : Cat(": ", hypothesis.statement())));
    std::vector<std::string> terms;
    for (const std::string& term : hypothesis.evidence_for()) terms.push_back(Cat("for: ", term));
    for (const std::string& term : hypothesis.evidence_against()) terms.push_back(Cat("against: ", term));
    out.Add(BlockKind::kListed, std::move(terms));
    out.Add(BlockKind::kCommand, hypothesis.separating_control());
    out.Add(BlockKind::kListed, Lines(hypothesis.reading()));
  }
}

struct SectionRow {
  const char* title;
  void (*write)(const SectionWriter& out);
};
constexpr SectionRow kSections[] = {
    {"First warning", FirstWarning},
    {"Root", Root},
    {"Clocks", Clocks},
    {"Why", Why},
    {"What is known", WhatIsKnown},
    {"What to do", WhatToDo},
    {"How to prove it", HowToProveIt},
    {"Restart", Restart},
    {"Other ranks and hosts", OtherPlaces},
    {"Unrelated faults", Unrelated},
    {"Not seen", NotSeenSection},
    {"What would settle it", WouldSettle},
    {"Suspects", Suspects},
    {"Timeline", Timeline},
    {"Hypotheses", Hypotheses},
};

std::string Footer(const v1::Report& report) {
  const v1::Completeness& seen = report.completeness();
  std::string out;
  if (!report.job().empty()) out += Cat("job ", report.job(), ", ");
  if (report.has_attempt()) out += Cat("attempt ", report.attempt(), ", ");
  out += Counted(seen.sources_size(), "source");
  if (seen.hosts_seen_size() > 0) out += Cat(", ", Counted(seen.hosts_seen_size(), "host"));
  if (seen.has_ranks_seen()) out += Cat(", ", Counted(seen.ranks_seen(), "rank"));
  return Cat(out, "; firstfault ", report.engine_version());
}

}  // namespace

std::string ShownLine(const DocumentBlock& block, size_t index, size_t columns) {
  const std::string_view line = block.lines[index];
  if (index > 0 || block.kept_size == 0) return CutMiddle(Printable(line), columns);
  const size_t kept_end = block.kept_begin + block.kept_size;
  return CutAround(Printable(line.substr(0, block.kept_begin)), Printable(line.substr(block.kept_begin, block.kept_size)),
                   Printable(line.substr(kept_end)), columns);
}

Document DocumentOf(const v1::Report& report, const DocumentOptions& options) {
  Document out;
  out.verdict = VerdictLine(report);
  for (const SectionRow& row : kSections) {
    DocumentSection section{row.title, {}};
    row.write({report, options, &section.blocks});
    if (!section.blocks.empty()) out.sections.push_back(std::move(section));
  }
  out.footer = Footer(report);
  return out;
}

}  // namespace firstfault
