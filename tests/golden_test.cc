// golden_test: every folder of tests/golden, judged as its expected.json says, beside what simpler tools say.
#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "coordinator/report_words.h"
#include "correlate/correlate.h"
#include "tests/golden/baselines.h"
#include "tests/golden/judge.h"
#include "tests/golden/read_folder.h"

namespace firstfault::golden {
namespace {

constexpr const char* kGroups[] = {"handed cases", "our own cases", "real torchrun"};
constexpr size_t kGroupCount = std::size(kGroups);

size_t GroupOf(const Case& expected) { return !expected.group.empty() ? 2 : expected.handed() ? 0 : 1; }

// How many cases of each group must at least be right (or not asked). Raise by hand as the engine learns;
// never lower.
struct Floor {
  const char* what;
  Mark Judgement::*mark;
  int of_group[kGroupCount];
};
constexpr Floor kFloors[] = {
    {"place", &Judgement::place, {15, 40, 68}},   {"class", &Judgement::fault_class, {15, 40, 68}},
    {"root", &Judgement::root, {15, 40, 68}},     {"first warning", &Judgement::first_warning, {15, 40, 68}},
    {"advice", &Judgement::advice, {15, 40, 68}}, {"roles", &Judgement::roles, {14, 40, 68}},
};

constexpr const char* kBaselineNames[] = {"earliest line", "torchrun root", "missing rank"};
constexpr size_t kBaselines = std::size(kBaselineNames);

struct Row {
  Case expected;
  v1::Report report;
  Judgement judgement;
  std::optional<Blame> blames[kBaselines];
};

// A baseline that knows the rank but not the host, or the other way round, is right with what it knows.
bool BlameIsRight(const Case& expected, const Blame& blame) {
  return expected.asks_place() &&
         AcceptsPlace(expected, blame.rank, blame.host.empty() ? expected.host : blame.host);
}

const std::vector<Row>& Rows() {
  static const std::vector<Row>* const rows = [] {
    auto* out = new std::vector<Row>;
    for (Case& expected : ReadCases(FIRSTFAULT_SOURCE_DIR "/tests/golden")) {
      const LoadedSources sources = LoadFolder(expected.folder);
      const Incident incident = BuildIncident(*BuiltInEngine().catalogue, sources.digests, {});
      Row row;
      row.report = Diagnose(sources);
      row.judgement = Judge(expected, row.report);
      row.blames[0] = EarliestBadLine(ReadTexts(expected.folder), incident);
      row.blames[1] = TorchrunRoot(incident);
      row.blames[2] = MissingRank(incident);
      row.expected = std::move(expected);
      out->push_back(std::move(row));
    }
    return out;
  }();
  return *rows;
}

char Letter(Mark mark) { return mark == Mark::kRight ? '+' : mark == Mark::kWrong ? 'x' : '.'; }

void PrintRow(const Row& row) {
  const Judgement& j = row.judgement;
  std::printf("%-50.50s %c%c%c%c%c%c ", row.expected.name.c_str(), Letter(j.place), Letter(j.fault_class),
              Letter(j.root), Letter(j.first_warning), Letter(j.advice), Letter(j.roles));
  for (const auto& blame : row.blames) {
    const bool asked = row.expected.asks_place() || row.expected.healthy();
    const bool right = blame && BlameIsRight(row.expected, *blame);
    std::printf("%c", !blame || !asked ? '.' : right ? '+' : 'x');
  }
  std::printf("  %s %s%s\n", row.report.verdict().c_str(), PlaceText(row.report).c_str(),
              j.named_wrongly ? "  NAMED WRONGLY" : "");
  for (const std::string& complaint : j.complaints) std::printf("    %s\n", complaint.c_str());
}

struct Share {
  int right = 0, of = 0;
  void Add(bool is_right) {
    right += is_right;
    ++of;
  }
  std::string Text() const { return std::to_string(right) + " of " + std::to_string(of); }
};

// One column of the table: ours or a baseline's.
struct Column {
  Share named_right, healthy;
  int named_wrongly = 0;
  std::map<std::string, Share> marks;
};

Column OurColumn(size_t group) {
  Column out;
  for (const Row& row : Rows()) {
    if (GroupOf(row.expected) != group) continue;
    const Judgement& j = row.judgement;
    if (row.expected.verdict() == "named") {
      out.named_right.Add(j.place == Mark::kRight && row.report.verdict() == "named");
    }
    if (row.expected.healthy()) out.healthy.Add(j.place == Mark::kRight);
    out.named_wrongly += j.named_wrongly;
    for (const Floor& floor : kFloors) {
      if (j.*floor.mark != Mark::kNotAsked) out.marks[floor.what].Add(j.*floor.mark == Mark::kRight);
    }
  }
  return out;
}

// Judged where the case has a place to name; a healthy log that it blames is not healthy to it.
Column BaselineColumn(size_t baseline, size_t group) {
  Column out;
  for (const Row& row : Rows()) {
    if (GroupOf(row.expected) != group) continue;
    const auto& blame = row.blames[baseline];
    const bool has_place = blame && (blame->rank || !blame->host.empty());
    if (row.expected.healthy()) out.healthy.Add(!blame);
    if (row.expected.verdict() == "named" && row.expected.asks_place()) {
      const bool right = has_place && BlameIsRight(row.expected, *blame);
      out.named_right.Add(right);
      out.named_wrongly += has_place && !right;
    } else {
      out.named_wrongly += has_place && row.expected.verdict() != "named";
    }
  }
  return out;
}

void PrintTable(size_t group) {
  std::vector<Column> columns = {OurColumn(group)};
  for (size_t i = 0; i < kBaselines; ++i) columns.push_back(BaselineColumn(i, group));
  std::printf("\n%-16s%16s", kGroups[group], "firstfault");
  for (const char* name : kBaselineNames) std::printf("%16s", name);
  const auto line = [&](const char* name, auto text) {
    std::printf("\n%-16s", name);
    for (const Column& column : columns) std::printf("%16s", text(column).c_str());
  };
  line("named right", [](const Column& c) { return c.named_right.Text(); });
  line("named wrongly", [](const Column& c) { return std::to_string(c.named_wrongly); });
  line("healthy", [](const Column& c) { return c.healthy.Text(); });
  for (const Floor& floor : kFloors) {
    line(floor.what,
         [&](const Column& c) { return c.marks.contains(floor.what) ? c.marks.at(floor.what).Text() : "-"; });
  }
  std::printf("\n");
}

TEST(Golden, Table) {
  ASSERT_FALSE(Rows().empty());
  std::printf(
      "marks: place class root first-warning advice roles, then: earliest line, torchrun, missing rank\n");
  std::printf("       + right, x wrong, . not asked or nothing said\n");
  for (const Row& row : Rows()) PrintRow(row);
  for (size_t group = 0; group < kGroupCount; ++group) PrintTable(group);
  std::fflush(stdout);
}

TEST(Golden, NobodyIsNamedWrongly) {
  for (const Row& row : Rows()) {
    EXPECT_FALSE(row.judgement.named_wrongly) << row.expected.name << ": " << PlaceText(row.report)
                                              << ", not " << PlaceText(row.expected.rank, row.expected.host);
  }
}

TEST(Golden, NoFloorIsBroken) {
  for (const Floor& floor : kFloors) {
    int held[kGroupCount] = {};
    for (const Row& row : Rows()) held[GroupOf(row.expected)] += row.judgement.*floor.mark != Mark::kWrong;
    for (size_t group = 0; group < kGroupCount; ++group) {
      EXPECT_GE(held[group], floor.of_group[group]) << floor.what << ", " << kGroups[group];
      if (held[group] > floor.of_group[group]) {
        std::printf("%s, %s: %d hold, the floor is %d: raise it\n", floor.what, kGroups[group], held[group],
                    floor.of_group[group]);
      }
    }
  }
}

TEST(Golden, HealthyLogsShowNoFailure) {
  for (const Row& row : Rows()) {
    if (!row.expected.healthy() || GroupOf(row.expected) == 1) continue;
    EXPECT_EQ(row.report.verdict(), "no_failure") << row.expected.name;
  }
}

TEST(Golden, WordsAreFromTheClosedSets) {
  for (const Row& row : Rows())
    EXPECT_EQ(UnknownWords(row.report), std::vector<std::string>()) << row.expected.name;
}

}  // namespace
}  // namespace firstfault::golden
