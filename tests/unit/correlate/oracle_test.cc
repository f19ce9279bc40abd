// The fast scanner against a slow oracle: RE2 run on every cleaned line with every pattern must give the
// same set of (line, pattern) pairs, on the golden incidents and on generated logs.
#include <gtest/gtest.h>
#include <re2/set.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "correlate/line_hits.h"
#include "correlate/parse/line.h"
#include "correlate/source_scanner.h"

namespace firstfault {
namespace {

using Pairs = std::set<std::pair<uint64_t, uint32_t>>;  // offset of the line, pattern

Pairs Fast(const std::string& bytes, size_t chunk_bytes) {
  const Engine& engine = BuiltInEngine();
  ScanBuffers buffers;
  Pairs out;
  size_t at = 0;
  while (at < bytes.size()) {
    size_t end = std::min(bytes.size(), at + chunk_bytes);
    const size_t newline = bytes.find('\n', end);
    end = newline == std::string::npos ? bytes.size() : newline + 1;
    const std::string_view chunk = std::string_view(bytes).substr(at, end - at);
    for (const LineHit& hit : FindLineHits(*engine.catalogue, *engine.patterns, buffers.hits, chunk)) {
      for (uint32_t pattern : hit.patterns) out.insert({at + hit.begin, pattern});
    }
    at = end;
  }
  return out;
}

Pairs Oracle(const std::string& bytes) {
  const Engine& engine = BuiltInEngine();
  // One set for "which patterns", as the plainest correct use of RE2.
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(int64_t{1} << 30);
  static const RE2::Set* const set = [&] {
    auto* made = new RE2::Set(options, RE2::UNANCHORED);
    for (const CompiledPattern& pattern : engine.catalogue->patterns()) {
      std::string error;
      EXPECT_GE(made->Add(pattern.regex(), &error), 0) << error;
    }
    EXPECT_TRUE(made->Compile());
    return made;
  }();
  Pairs out;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t newline = bytes.find('\n', at);
    const size_t end = newline == std::string::npos ? bytes.size() : newline;
    const std::string line = CleanLine(std::string_view(bytes).substr(at, end - at));
    std::vector<int> matched;
    set->Match(line, &matched);
    for (int pattern : matched) {
      // Patterns without an anchor are not searched for, only tried on sampled lines.
      if (!engine.catalogue->patterns()[static_cast<size_t>(pattern)].row->anchor().empty()) out.insert({at, static_cast<uint32_t>(pattern)});
    }
    at = end + 1;
  }
  return out;
}

void ExpectSame(const std::string& bytes, const std::string& name) {
  const Pairs oracle = Oracle(bytes);
  for (size_t chunk_bytes : {size_t{1}, size_t{4096}, size_t{131072}}) {
    EXPECT_EQ(Fast(bytes, chunk_bytes), oracle) << name << " in chunks of " << chunk_bytes;
  }
}

TEST(Oracle, GoldenIncidents) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(FIRSTFAULT_SOURCE_DIR "/tests/golden")) {
    if (!entry.is_regular_file() || entry.path().filename() == "expected.json") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    ExpectSame(std::string((std::istreambuf_iterator<char>(in)), {}), entry.path().string());
    ++files;
  }
  EXPECT_GT(files, 15);
}

TEST(Oracle, EveryExampleOfTheCatalogue) {
  std::string log;
  for (const Signature& signature : BuiltInPages()->signatures()) {
    for (const auto* list : {&signature.row.positive(), &signature.row.negative(), &signature.row.prose()}) {
      for (const std::string& line : *list) log += line + "\n";
    }
  }
  ExpectSame(log, "examples");
}

// Healthy lines, the same with faults in between, and very long lines, all seeded.
TEST(Oracle, GeneratedLogs) {
  std::mt19937 random(20260101);
  std::vector<std::string> examples;
  for (const Signature& signature : BuiltInPages()->signatures()) {
    for (const std::string& line : signature.row.positive()) examples.push_back(line);
  }
  std::string clean, noisy, longline;
  for (int i = 0; i < 20000; ++i) {
    const std::string line = "[rank" + std::to_string(i % 8) + "]: iteration " + std::to_string(i) + "/ 90000 | lm loss: 1." +
                             std::to_string(random() % 100000) + " | grad norm: 0." + std::to_string(random() % 1000) + " |\n";
    clean += line;
    noisy += line;
    const std::string& example = examples[random() % examples.size()];
    if (random() % 10 == 0) noisy += example + "\n";
    if (random() % 100 == 0) noisy += "\x1b[33m" + example + "\x1b[0m\r\n";
    if (random() % 200 == 0) noisy += "bar 10%\rbar 20%\r" + example + "\n";
    if (random() % 2000 == 0) longline += std::string(1 << 16, 'y') + example + std::string(random() % 200000, 'z') + "\n";
  }
  ExpectSame(clean, "clean");
  ExpectSame(noisy, "noisy");
  ExpectSame(longline, "long lines");
}

}  // namespace
}  // namespace firstfault
