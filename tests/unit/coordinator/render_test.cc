#include "coordinator/render.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "coordinator/report_words.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr char kReports[] = FIRSTFAULT_SOURCE_DIR "/tests/unit/coordinator/reports/";
constexpr const char* kNames[] = {"named", "all_ranks", "undetermined", "no_failure"};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

v1::Report Load(const std::string& name) {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(ReadFile(Cat(kReports, name, ".txtpb")), &report))
      << name;
  return report;
}

// FIRSTFAULT_REBASE=1 writes the file instead: then read the diff.
void ExpectGolden(const std::string& file, const std::string& actual) {
  const std::string path = Cat(kReports, file);
  if (std::getenv("FIRSTFAULT_REBASE") != nullptr) std::ofstream(path, std::ios::binary) << actual;
  EXPECT_EQ(actual, ReadFile(path)) << file;
}

// A named report whose every string from a log is `text`.
v1::Report Hostile(const std::string& text) {
  v1::Report report = Load("named");
  for (v1::EventView* event :
       {report.mutable_root(), report.mutable_first_warning(), report.mutable_unrelated(0)}) {
    event->set_text(text);
    event->set_source(text);
    event->set_host(text);
    for (std::string& line : *event->mutable_block()) line = text;
  }
  report.mutable_initiator()->set_host(text);
  report.set_why(text);
  report.set_job(text);
  report.mutable_advice()->set_control_command(text);
  report.mutable_advice()->set_changes(0, text);
  report.mutable_completeness()->set_input_problems(0, text);
  report.mutable_completeness()->set_hosts_missing(0, text);
  report.mutable_completeness()->mutable_clocks(1)->set_host(text);
  report.mutable_ranks(0)->set_because(text);
  report.mutable_hypotheses(0)->set_evidence_for(0, text);
  return report;
}

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  for (const std::string_view line : Split(text, '\n')) longest = std::max(longest, Columns(line));
  return longest;
}

TEST(Render, TextAndMarkdownOfEachVerdictAreAsReadAndApproved) {
  for (const char* name : kNames) {
    ExpectGolden(Cat(name, ".txt"), RenderText(Load(name), {}));
    ExpectGolden(Cat(name, ".md"), RenderMarkdown(Load(name), {}));
  }
  RenderOptions explain;
  explain.explain = explain.full = true;
  ExpectGolden("named.explain.txt", RenderText(Load("named"), explain));
}

TEST(Render, OneLineIsTheVerdictAndItsPlace) {
  EXPECT_EQ(RenderOneLine(Load("named")),
            "rank 3 on node n01 (GPU 3) failed first: CUDA out of memory [capacity, oom.torch], confidence "
            "0.92, at "
            "logs/n01/rank3.log:8813\n");
  EXPECT_EQ(
      RenderOneLine(Load("all_ranks")),
      "all ranks failed alike: unknown configuration key [configuration, py.config], confidence 0.88, at "
      "slurm-88.out:41\n");
  EXPECT_EQ(
      RenderOneLine(Load("undetermined")),
      "undetermined: no suspect is far enough ahead of the others; suspects: rank 3 on node n01, rank 12 on "
      "node n02\n");
  EXPECT_EQ(RenderOneLine(Load("no_failure")), "no failure found\n");
}

TEST(Render, TheHeadlineTellsHowSureTheClassIsWhereItIsLessSure) {
  v1::Report report = Load("named");
  report.set_class_confidence(0.6149);
  EXPECT_TRUE(RenderOneLine(report).find("confidence 0.92, in the class 0.61, at") != std::string::npos) << RenderOneLine(report);
  report.set_class_confidence(0.9231);
  EXPECT_EQ(RenderOneLine(report), RenderOneLine(Load("named")));
}

TEST(Render, TheFirstLineOfTheTextIsTheVerdict) {
  for (const char* name : kNames) {
    const std::string text = RenderText(Load(name), {});
    EXPECT_TRUE(RenderOneLine(Load(name)).starts_with(text.substr(0, text.find('\n')))) << name;
  }
}

TEST(Render, APlaceThatIsNotKnownIsNotInvented) {
  v1::Report report = Load("named");
  report.clear_initiator();
  for (v1::RankView& rank : *report.mutable_ranks()) rank.set_role("collateral");
  EXPECT_TRUE(RenderOneLine(report).starts_with("first fault, on a rank that the logs do not name: "));
  report.mutable_initiator()->mutable_device()->set_pci("0000:3b:00");
  EXPECT_TRUE(RenderOneLine(report).starts_with("GPU 0000:3b:00 failed first: "));
  report.clear_title();
  report.clear_signature();
  report.set_class_("undetermined");
  EXPECT_TRUE(RenderOneLine(report).starts_with(
      "GPU 0000:3b:00 failed first: it left no line that says why [undetermined], confidence 0.92"));
}

TEST(Render, WhatAScheduleEndsDidNotFail) {
  v1::Report report = Load("named");
  report.set_class_("scheduler");
  report.set_title("Slurm time limit reached");
  report.set_job("901177");
  EXPECT_TRUE(RenderOneLine(report).starts_with("ended from outside: Slurm time limit reached (job 901177), seen on rank 3")) << RenderOneLine(report);
  report.set_title("Slurm pre-empted the job");  // says already what was ended
  EXPECT_TRUE(RenderOneLine(report).starts_with("ended from outside: Slurm pre-empted the job (901177), seen on rank 3")) << RenderOneLine(report);
}

TEST(Render, ADeviceIsCalledWhatItIs) {
  v1::Report report = Load("named");
  report.mutable_initiator()->clear_rank();
  report.mutable_initiator()->mutable_device()->clear_index();
  report.mutable_initiator()->mutable_device()->set_pci("0000:5e:00.0");
  report.mutable_initiator()->mutable_device()->set_kind("nic");
  EXPECT_NE(RenderOneLine(report).find("(NIC 0000:5e:00.0)"), std::string::npos) << RenderOneLine(report);
}

TEST(Render, JsonSpellsOutDefaultsAndLeavesOutWhatIsNotKnown) {
  const std::string json = RenderJson(Load("undetermined"));
  EXPECT_NE(json.find("\"verdict\": \"undetermined\""), std::string::npos);
  EXPECT_NE(json.find("\"unrelated\": []"), std::string::npos);      // a default, printed
  EXPECT_NE(json.find("\"text_lossy\": false"), std::string::npos);  // likewise
  EXPECT_NE(json.find("\"byte_offset\": \"8123\""), std::string::npos);
  EXPECT_EQ(json.find("\"initiator\": null"), std::string::npos);
  EXPECT_EQ(json.find("local_rank"), std::string::npos);  // optional and unknown
  EXPECT_EQ(json.find("attempt"), std::string::npos);
  v1::Report again;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &again).ok());
  EXPECT_EQ(RenderJson(again), json);
}

// The engine replaces such bytes; one that it forgot must not take the whole report away.
TEST(Render, JsonOfBadBytesIsStillJson) {
  v1::Report report = Load("named");
  report.mutable_root()->set_text("bad \xff byte");
  v1::Report again;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(RenderJson(report), &again).ok());
  EXPECT_EQ(again.initiator().rank(), 3);
}

TEST(Render, ZeroIsAValue) {
  v1::Report report = Load("named");
  report.mutable_initiator()->set_rank(0);
  report.mutable_initiator()->mutable_device()->set_index(0);
  EXPECT_TRUE(RenderOneLine(report).starts_with("rank 0 on node n01 (GPU 0) failed first"));
  EXPECT_NE(RenderJson(report).find("\"rank\": 0"), std::string::npos);
}

TEST(Render, SameReportSameBytes) {
  for (const char* name : kNames) {
    EXPECT_EQ(RenderText(Load(name), {}), RenderText(Load(name), {}));
    EXPECT_EQ(RenderJson(Load(name)), RenderJson(Load(name)));
  }
}

TEST(Render, LogTextNeverReachesTheTerminalAsACommand) {
  const std::string hostile =
      "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1bPq\x1b\\ \x1b"
      "c\r\b\x7f \xc2\x9b"
      "31m \xe2\x80\xae reversed\nNot seen\n  - fake";
  for (const bool full : {false, true}) {
    RenderOptions options;
    options.full = options.explain = full;
    for (const std::string& out :
         {RenderText(Hostile(hostile), options), RenderMarkdown(Hostile(hostile), options),
          RenderOneLine(Hostile(hostile))}) {
      for (const unsigned char c : out) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7F)) << out;
      EXPECT_EQ(out.find("\xc2\x9b"), std::string::npos);
      EXPECT_EQ(out.find("\xe2\x80\xae"), std::string::npos);
      EXPECT_EQ(out.find("\n  - fake"), std::string::npos);
      EXPECT_NE(out.find("red \\x1b]0;title\\x07"), std::string::npos) << out;
    }
  }
  EXPECT_EQ(RenderOneLine(Hostile(hostile)).find('\n'), RenderOneLine(Hostile(hostile)).size() - 1);
  // protobuf's JSON escapes controls itself; a terminal shows it unharmed.
  const std::string json = RenderJson(Hostile(hostile));
  for (const unsigned char c : json) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7F));
}

TEST(Render, ColourComesFromTheRendererOnly) {
  RenderOptions colour;
  colour.colour = true;
  std::string coloured = RenderText(Hostile("\x1b[35mlog"), colour);
  EXPECT_EQ(coloured.find("\x1b[35m"), std::string::npos);
  EXPECT_TRUE(coloured.starts_with("\x1b[1;31mrank 3"));
  // Printable() keeps line breaks visible, so the plain text is compared line by line.
  const std::string plain = RenderText(Hostile("\x1b[35mlog"), {});
  const std::vector<std::string_view> a = Split(coloured, '\n'), b = Split(plain, '\n');
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(Printable(a[i]), b[i]);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
}

// Outside fences nothing of the text may stand that markdown acts on.
TEST(Render, LogTextIsNeverReadAsMarkdown) {
  const std::string hostile =
      "``` </script><img src=x> [link](http://evil.example) @everyone #12 **bold** ~~~~ ````` | a | &amp; "
      "__x__ $x$";
  const std::string out = RenderMarkdown(Hostile(hostile), {});
  size_t fence = 0;
  for (const std::string_view line : Split(out, '\n')) {
    const size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence == 0 && ticks >= 3 && line.find('`', ticks) == std::string_view::npos) {
      fence = ticks;
      // Longer than any run of back-ticks inside.
      EXPECT_TRUE(fence == 3 || fence == 6) << line;
    } else if (fence > 0) {
      if (ticks == fence && line.size() == fence) fence = 0;
    } else {
      // Take the code spans out; what is left must be harmless.
      std::string left;
      for (size_t at = 0; at < line.size();) {
        const size_t run = std::min(line.find_first_not_of('`', at), line.size()) - at;
        if (run == 0) {
          left += line[at++];
          continue;
        }
        const std::string ticks_text(run, '`');
        size_t close = line.find(ticks_text, at + run);
        // A closing run has the same length exactly.
        while (close != std::string_view::npos && close + run < line.size() && line[close + run] == '`') {
          close = line.find(ticks_text, line.find_first_not_of('`', close));
        }
        ASSERT_NE(close, std::string_view::npos) << line;
        at = close + run;
      }
      EXPECT_EQ(left.find_first_of("<>*_~@|&$`\\"), std::string::npos) << line << "\nleft: " << left;
      for (const char* link : {"](", "][", "]:", "[[", "- ["})
        EXPECT_EQ(left.find(link), std::string::npos) << line;
      if (!left.starts_with("#")) {
        EXPECT_EQ(left.find('#'), std::string::npos) << line;
      }
    }
  }
  EXPECT_EQ(fence, 0u);
}

TEST(Render, AMebibyteLineIsCutInTheMiddleUnlessFull) {
  std::string line = "HEAD " + std::string(1 << 20, '=') + " TAIL";
  v1::Report report = Load("named");
  report.mutable_root()->set_text(line);
  for (const size_t columns : {size_t{60}, size_t{100}, size_t{237}}) {
    RenderOptions options;
    options.columns = columns;
    const std::string text = RenderText(report, options);
    // Places and commands are never cut, so that they can be copied; the verdict is one line.
    for (const std::string_view shown : Split(text, '\n')) {
      if (shown.starts_with("    HEAD")) {
        EXPECT_EQ(Columns(shown), columns);
      }
    }
    EXPECT_NE(text.find("    HEAD ==="), std::string::npos);
    EXPECT_NE(text.find("===...==="), std::string::npos);
    EXPECT_NE(text.find("=== TAIL\n"), std::string::npos);
    EXPECT_LT(LongestLine(text), 300u);
  }
  EXPECT_LT(RenderMarkdown(report, {}).size(), 10'000u);
  RenderOptions full;
  full.full = true;
  EXPECT_NE(RenderText(report, full).find(line), std::string::npos);
  EXPECT_NE(RenderMarkdown(report, full).find(line), std::string::npos);
}

TEST(Render, ReplacedBytesAreSaid) {
  v1::Report report = Load("named");
  report.mutable_root()->set_text("bad \xEF\xBF\xBD byte");
  report.mutable_root()->set_text_lossy(true);
  const std::string text = RenderText(report, {});
  EXPECT_NE(text.find("    bad \xEF\xBF\xBD byte\n  Bytes of this line that are not UTF-8 were replaced.\n"),
            std::string::npos);
}

TEST(Render, ThousandsOfRanksFoldIntoRanges) {
  v1::Report report = Load("named");
  report.clear_ranks();
  for (int32_t rank = 0; rank < 4096; ++rank) {
    v1::RankView* view = report.add_ranks();
    view->set_rank(rank);
    view->set_role(rank == 3 ? "root" : "collateral");
    view->set_because("watchdog time-out");
  }
  EXPECT_NE(RenderText(report, {}).find("  - ranks 0-2, 4-4095: collateral (watchdog time-out)\n"),
            std::string::npos);
  for (v1::RankView& view : *report.mutable_ranks()) view.set_because(Cat("waits in step ", view.rank()));
  EXPECT_LT(RenderText(report, {}).size(), 8'000u);
  EXPECT_NE(RenderText(report, {}).find("more groups (--full shows them"), std::string::npos);
}

TEST(ReportWords, OnlyThoseOfTheContract) {
  // As the contract lists them: a change here is a change of the contract.
  const std::set<std::string_view> classes = {"capacity",  "configuration", "transport",
                                              "hardware",  "software",      "data",
                                              "scheduler", "undetermined",  "none"};
  EXPECT_EQ(std::set<std::string_view>(std::begin(kClassWords), std::end(kClassWords)), classes);
  const std::set<std::string_view> verdicts = {"named", "undetermined", "no_failure"};
  EXPECT_EQ(std::set<std::string_view>(std::begin(kVerdictWords), std::end(kVerdictWords)), verdicts);
  const std::set<std::string_view> roles = {"root", "collateral", "teardown", "unrelated", "no_evidence"};
  EXPECT_EQ(std::set<std::string_view>(std::begin(kRankRoleWords), std::end(kRankRoleWords)), roles);
  const std::set<std::string_view> states = {"running", "stalled", "failed", "ended"};
  EXPECT_EQ(std::set<std::string_view>(std::begin(kStateWords), std::end(kStateWords)), states);
  const std::set<std::string_view> finalities = {"provisional", "final"};
  EXPECT_EQ(std::set<std::string_view>(std::begin(kFinalityWords), std::end(kFinalityWords)), finalities);
}

TEST(ReportWords, EveryVerdictHasALine) {
  for (const std::string_view verdict : kVerdictWords) {
    v1::Report report;
    report.set_verdict(std::string(verdict));
    EXPECT_EQ(RenderOneLine(report).find("unknown verdict"), std::string::npos) << verdict;
  }
}

TEST(ReportWords, OthersAreFound) {
  for (const char* name : kNames) EXPECT_EQ(UnknownWords(Load(name)), std::vector<std::string>{}) << name;
  v1::Report report = Load("named");
  report.set_class_("cosmic");
  report.mutable_ranks(0)->set_role("victim");
  report.mutable_completeness()->mutable_sources(0)->set_kind("poem");
  EXPECT_EQ(UnknownWords(report),
            (std::vector<std::string>{"class: 'cosmic'", "role: 'victim'", "kind: 'poem'"}));
}

TEST(Render, AProvisionalVerdictSaysSo) {
  v1::Report report = Load("named");
  report.mutable_state()->set_finality("provisional");
  const std::string text = RenderText(report, {});
  EXPECT_TRUE(text.substr(0, text.find('\n')).ends_with(" (provisional: not all hosts have answered)"));
}

TEST(Render, AnEmptyReportIsStillShown) {
  const v1::Report empty;
  EXPECT_EQ(RenderText(empty, {}), "unknown verdict ''\n\n0 sources; firstfault\n");
  EXPECT_FALSE(RenderMarkdown(empty, {}).empty());
  EXPECT_FALSE(RenderJson(empty).empty());
}

}  // namespace
}  // namespace firstfault
