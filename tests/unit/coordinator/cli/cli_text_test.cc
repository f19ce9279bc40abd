#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>

#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/nearest.h"
#include "coordinator/cli/progress_lines.h"
#include "coordinator/cli/signature_pages.h"
#include "coordinator/cli/time_argument.h"
#include "coordinator/report_words.h"
#include "correlate/catalogue_text.h"

namespace firstfault {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ExitCodes, AreThoseOfTheContract) {
  struct Row {
    const char* verdict;
    const char* fault_class;
    int code;
  };
  const Row rows[] = {
      {"no_failure", "none", 0},
      {"named", "capacity", 10},
      {"named", "configuration", 11},
      {"named", "transport", 12},
      {"named", "hardware", 13},
      {"named", "software", 14},
      {"named", "data", 15},
      {"named", "scheduler", 16},
      {"named", "undetermined", 20},
      {"undetermined", "capacity", 20},
      {"undetermined", "undetermined", 20},
      {"named", "cosmic", 70},
  };
  std::set<std::string_view> seen;
  for (const Row& row : rows) {
    v1::Report report;
    report.set_verdict(row.verdict);
    report.set_class_(row.fault_class);
    EXPECT_EQ(ExitCodeOf(report), row.code) << row.verdict << ' ' << row.fault_class;
    seen.insert(row.fault_class);
  }
  for (const std::string_view word : kClassWords) EXPECT_TRUE(seen.contains(word)) << word;
}

TEST(ExitCodes, ClassesOfTheCatalogueAreThoseOfReports) {
  for (const std::string_view word : kClassWords) {
    const auto value = FaultClassFromWord(word);
    ASSERT_TRUE(value) << word;
    EXPECT_EQ(Word(*value), word);
  }
  for (int i = 0; i < 256; ++i) {
    const std::string_view word = Word(static_cast<FaultClass>(i));
    EXPECT_TRUE(word.empty() ||
                std::find(std::begin(kClassWords), std::end(kClassWords), word) != std::end(kClassWords));
  }
}

TEST(TimeArgument, AcceptsWhatPeoplePaste) {
  struct Row {
    const char* text;
    int64_t seconds;
  };
  const Row rows[] = {
      {"2026-01-02T03:04:05Z", 1767323045},      {"2026-01-02T03:04:05+01:00", 1767319445},
      {"2026-01-02 03:04:05", 1767323045},       {"2026-01-02 03:04", 1767323040},
      {"2026-01-02 03:04:05 -0500", 1767341045}, {"2026-01-02 03:04Z", 1767323040},
      {"2026-01-02T03:04:05", 1767323045},       {"1970-01-01 00:00", 0},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseTimeArgument(row.text), row.seconds * kSecond) << row.text;
  EXPECT_EQ(ParseTimeArgument("2026-01-02T03:04:05.250Z"), 1767323045 * kSecond + kSecond / 4);
}

TEST(TimeArgument, RefusesTheRest) {
  for (const char* text : {"", "now", "infinite-future", "2026-01-02", "03:04", " 2026-01-02 03:04",
                           "2026-01-02 03:04 ", "2026-13-02 03:04", "2026-02-30 03:04", "2026-01-02 25:04",
                           "9999-01-01 00:00", "1769-01-01 00:00", "2026-01-02 03:04 Mars", "1767323045"}) {
    EXPECT_FALSE(ParseTimeArgument(text)) << text;
  }
}

TEST(Nearest, TypingErrorsAndParts) {
  const std::vector<std::string> known = {"diagnose",  "signatures", "version",
                                          "oom.torch", "oom.cublas", "xid.79"};
  EXPECT_EQ(NearestWords("diagnos", known, 3), std::vector<std::string>{"diagnose"});
  EXPECT_EQ(NearestWords("oom.torh", known, 3), std::vector<std::string>{"oom.torch"});
  EXPECT_EQ(NearestWords("oom", known, 3), (std::vector<std::string>{"oom.torch", "oom.cublas"}));
  EXPECT_EQ(NearestWords("zzz", known, 3), std::vector<std::string>{});
  EXPECT_EQ(NearestWords("", known, 3), std::vector<std::string>{});
  EXPECT_EQ(NearestWords(std::string(1 << 20, 'x'), known, 3), std::vector<std::string>{});
  EXPECT_EQ(DidYouMean("xid.97", known, 3), "; did you mean xid.79?");
  EXPECT_EQ(DidYouMean("zzz", known, 3), "");
}

TEST(ProgressLines, NothingWithinTheFirstSecond) {
  for (const bool terminal : {false, true}) {
    ProgressLines lines(terminal, 100 * kSecond);
    EXPECT_EQ(lines.Update(101 * kSecond - 1, 1, 5 << 20), "");
    EXPECT_EQ(lines.Done(), "");
  }
}

TEST(ProgressLines, OneLineOnATerminalAndAFewElsewhere) {
  ProgressLines terminal(true, 0);
  EXPECT_EQ(terminal.Update(kSecond, 1, 5 << 20), "\r\x1b[Kreading: 1 source, 5 MiB");
  EXPECT_EQ(terminal.Update(kSecond + kSecond / 10, 2, 6 << 20), "");
  EXPECT_EQ(terminal.Update(kSecond + kSecond / 5, 2, 6 << 20), "\r\x1b[Kreading: 2 sources, 6 MiB");
  EXPECT_EQ(terminal.Done(), "\r\x1b[K");
  ProgressLines plain(false, 0);
  EXPECT_EQ(plain.Update(kSecond, 1, 5 << 20), "firstfault: reading: 1 source, 5 MiB\n");
  EXPECT_EQ(plain.Update(5 * kSecond, 2, 6 << 20), "");
  EXPECT_EQ(plain.Update(6 * kSecond, 2, 6 << 20), "firstfault: reading: 2 sources, 6 MiB\n");
  EXPECT_EQ(plain.Done(), "");
}

constexpr char kRows[] = R"rows(
signature {
  id: "xid.line" producer: "kernel" title: "GPU driver reported an Xid"
  class: "hardware" role: "ambiguous" severity: "error"
  pattern { regex: "NVRM: Xid \\(PCI:(?P<bus>[0-9a-f:.]+)\\): (?P<xid>[0-9]+)" }
  quick_answer: "The driver names a GPU." positive: "NVRM: Xid (PCI:0000:3b:00): 12, x"
}
signature {
  id: "xid.79" producer: "kernel" title: "GPU fell off the bus"
  class: "hardware" role: "initiating" severity: "fatal"
  refines { of: "xid.line" capture: "xid" equals: "79" }
  quick_answer: "The host lost the GPU." symptom: "A kernel line." mechanism: "PCIe link lost."
  affected: "One GPU." does_not_prove: "That the board is broken."
  check: "C1" fix: "F1" advice: "Reseat it." related: "xid.line"
  positive: "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
  source: "driver docs" evidence: "D"
}
fix { id: "F1" title: "Drain" text: "Take the node out." }
check { id: "C1" title: "Kernel log" text: "Read it." command: "dmesg -T | grep NVRM" }
)rows";

std::shared_ptr<const Catalogue> SmallCatalogue() {
  const auto file = ParseCatalogueText("rows.txtpb", kRows);
  EXPECT_TRUE(file.ok());
  auto catalogue = Catalogue::Build({*file});
  EXPECT_TRUE(catalogue.ok());
  return *catalogue;
}

TEST(SignaturePages, ListIsAligned) {
  const auto catalogue = SmallCatalogue();
  EXPECT_EQ(SignatureList(SearchSignatures(*catalogue, "")),
            "xid.79    hardware  initiating  GPU fell off the bus\n"
            "xid.line  hardware  ambiguous   GPU driver reported an Xid\n");
}

TEST(SignaturePages, APageAnswersInOrder) {
  const auto catalogue = SmallCatalogue();
  EXPECT_EQ(SignaturePage(*catalogue, *catalogue->Find("xid.79"), 100), R"(xid.79: GPU fell off the bus
hardware, initiating, fatal; printed by kernel
a case of xid.line: xid 79

Quick answer
  The host lost the GPU.

Symptom
  A kernel line.
    NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.

Mechanism
  PCIe link lost.

Affected systems
  One GPU.

Confirm: Kernel log
  Read it.
    dmesg -T | grep NVRM

Fix
  1. Reseat it.
  2. Drain: Take the node out.

Verify
  After the fix, run the same step again: the line must not come back, and this must be clean.
    dmesg -T | grep NVRM

Related
  see also: xid.line, GPU driver reported an Xid

What it does not prove
  That the board is broken.

Source
  driver docs; read in the documentation
)");
}

TEST(SignaturePages, SearchFindsWordsAndLinesOfLogs) {
  const auto catalogue = SmallCatalogue();
  const auto ids = [&](std::string_view text) {
    std::vector<std::string> out;
    for (const Signature* signature : SearchSignatures(*catalogue, text)) out.push_back(signature->row.id());
    return out;
  };
  EXPECT_EQ(ids("FELL OFF"), std::vector<std::string>{"xid.79"});
  EXPECT_EQ(ids("0000:3b:00"), (std::vector<std::string>{"xid.79", "xid.line"}));  // both examples
  EXPECT_EQ(ids("n7 kernel: NVRM: Xid (PCI:0000:af:00): 79, pid=4"), std::vector<std::string>{"xid.79"});
  EXPECT_EQ(ids("n7 kernel: NVRM: Xid (PCI:0000:af:00): 44, pid=4"), std::vector<std::string>{"xid.line"});
  EXPECT_EQ(ids("no such words"), std::vector<std::string>{});
}

TEST(CatalogueText, ErrorsSayWhere) {
  const auto bad = ParseCatalogueText("rows.txtpb", "signature {\n  idd: \"x\"\n}");
  ASSERT_FALSE(bad.ok());
  EXPECT_TRUE(std::string(bad.status().message()).starts_with("rows.txtpb:2:")) << bad.status().message();
}

}  // namespace
}  // namespace firstfault
