// What an agent ships of the golden incidents is enough for the same verdict. Prints the shipped share.
#include "agent/evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "correlate/correlate.h"
#include "correlate/text.h"
#include "tests/golden/judge.h"
#include "tests/golden/read_folder.h"

namespace firstfault::agent {
namespace {

// Bytes arrive over time: a chunk a second.
constexpr size_t kChunkBytes = 4096;
constexpr int64_t kSecondNs = 1'000'000'000;

// By byte offset.
using Spans = std::map<uint64_t, v1::Span>;

Spans SpansOf(const std::vector<v1::Record>& records) {
  Spans out;
  for (const v1::Record& record : records) {
    if (!record.has_span()) continue;
    EXPECT_TRUE(out.emplace(record.span().byte_offset(), record.span()).second);
  }
  return out;
}

Spans Whole(const std::string& text) {
  Spans out;
  out[0].set_first_line(1);
  out[0].set_raw(text);
  return out;
}

std::vector<v1::Record> Shipped(std::string_view text, Ship ship) {
  std::vector<PatternSet::Hit> hits;
  std::vector<v1::Record> out;
  Evidence evidence(BuiltInEngine(), hits, 1, ship);
  int64_t now_ns = 0;
  for (size_t at = 0; at < text.size(); at += kChunkBytes, now_ns += kSecondNs) {
    evidence.Feed(now_ns, text.substr(at, kChunkBytes), &out);
  }
  evidence.Flush(now_ns, &out);
  evidence.Tail(&out);
  return out;
}

SourceDigest Scan(const SourceInfo& info, const Spans& spans) {
  ScanBuffers buffers;
  SourceScanner scanner(BuiltInEngine(), buffers, info);
  uint64_t at = 0, line = 1;
  for (const auto& [offset, span] : spans) {
    EXPECT_GE(offset, at) << "shipped twice";
    if (offset > at) scanner.Skip(offset - at, span.first_line() - line);
    scanner.Feed(span.raw());
    at = offset + span.raw().size();
    line = span.first_line() + static_cast<uint64_t>(std::count(span.raw().begin(), span.raw().end(), '\n'));
  }
  return scanner.Finish();
}

std::string Verdict(const v1::Report& report) {
  return Cat(report.verdict(), ", ", golden::PlaceText(report), ", ", report.class_(), " ", report.signature(), ": ",
             report.root().text());
}

// Healthy lines between the lines of an incident, as a long run has them: more than are kept around a match.
constexpr int kStretches = 6, kStretchLines = 250;
std::string Stretched(const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  std::string out;
  int64_t line = 0;
  for (const char c : text) {
    out.push_back(c);
    if (c != '\n') continue;
    const int64_t before = line++;
    if (line * kStretches / (lines + 1) == before * kStretches / (lines + 1)) continue;
    for (int i = 0; i < kStretchLines; ++i) out += Cat("nothing to report, for the ", i, "th time\n");
  }
  return out;
}

void ExpectSameVerdicts(const std::function<std::string(const std::string&)>& change) {
  uint64_t bytes = 0, shipped = 0, differ = 0, cases = 0;
  for (const golden::Case& expected : golden::ReadCases(FIRSTFAULT_SOURCE_DIR "/tests/golden")) {
    std::vector<SourceDigest> whole, spans;
    uint64_t case_bytes = 0, case_shipped = 0;
    for (const golden::SourceText& source : golden::ReadTexts(expected.folder)) {
      const std::string text = change(source.text);
      whole.push_back(Scan(source.info, Whole(text)));
      const auto kept = SpansOf(Shipped(text, Ship::kMatches));
      spans.push_back(Scan(source.info, kept));
      case_bytes += text.size();
      for (const auto& [offset, span] : kept) {
        case_shipped += span.raw().size();
        EXPECT_EQ(span.raw(), std::string_view(text).substr(offset, span.raw().size()));
      }
    }
    bytes += case_bytes;
    shipped += case_shipped;
    ++cases;
    const std::string was = Verdict(Correlate(BuiltInEngine(), whole, {}));
    const std::string is = Verdict(Correlate(BuiltInEngine(), spans, {}));
    differ += was != is;
    EXPECT_EQ(was, is) << expected.name << ", shipped " << case_shipped << " of " << case_bytes;
  }
  std::printf("%lu cases, %lu differ; shipped %.1f %% of %.1f MB\n", static_cast<unsigned long>(cases),
              static_cast<unsigned long>(differ), 100.0 * static_cast<double>(shipped) / static_cast<double>(bytes),
              static_cast<double>(bytes) / 1e6);
}

TEST(Shipping, IsEnoughForTheSameVerdict) {
  ExpectSameVerdicts([](const std::string& text) { return text; });
}

TEST(Shipping, IsEnoughInLongLogs) { ExpectSameVerdicts(Stretched); }

}  // namespace
}  // namespace firstfault::agent
