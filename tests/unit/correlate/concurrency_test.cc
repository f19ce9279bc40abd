// One engine for many threads: what headers call thread-safe, under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "correlate/correlate.h"

namespace firstfault {
namespace {

constexpr size_t kThreads = 4, kCases = 6;

// The logs of one golden case as one text each: a few incidents with different signatures.
std::vector<std::vector<std::string>> Incidents() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(FIRSTFAULT_SOURCE_DIR "/tests/golden")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  folders.resize(std::min(folders.size(), kCases));
  std::vector<std::vector<std::string>> out;
  for (const auto& folder : folders) {
    std::vector<std::string>& texts = out.emplace_back();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().filename() == "expected.json") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  return out;
}

std::string ReportOn(const Engine& engine, const std::vector<std::string>& texts) {
  ScanBuffers buffers;
  std::vector<SourceDigest> digests;
  for (const std::string& text : texts) {
    SourceInfo info;
    info.path = "log" + std::to_string(digests.size());
    SourceScanner scanner(engine, buffers, info);
    scanner.Feed(text);
    digests.push_back(scanner.Finish());
  }
  return Correlate(engine, digests, {}).SerializeAsString();
}

// Threads run first, so that everything that is made on first use is made by all of them at once.
TEST(Concurrency, ThreadsThatShareAnEngineGiveTheSameReports) {
  const std::vector<std::vector<std::string>> incidents = Incidents();
  ASSERT_FALSE(incidents.empty());
  std::vector<std::vector<std::string>> reports(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& mine : reports) {
    threads.emplace_back([&mine, &incidents] {
      for (const auto& texts : incidents) mine.push_back(ReportOn(BuiltInEngine(), texts));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < incidents.size(); ++i) {
    const std::string alone = ReportOn(BuiltInEngine(), incidents[i]);
    for (const auto& mine : reports) EXPECT_EQ(mine[i], alone) << "incident " << i;
  }
}

}  // namespace
}  // namespace firstfault
