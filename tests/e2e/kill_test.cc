// Agent and coordinator killed at random moments, and at every named place, while a job writes numbered lines: each
// line is recorded once, and the verdict is the one of the undisturbed file.
//
// FIRSTFAULT_KILLS: how many random kills, instead of 30. FIRSTFAULT_SEED: of their moments.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "correlate/text.h"
#include "proto/event_log.h"
#include "proto/fail_point.h"
#include "tests/e2e/programs.h"

namespace firstfault::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr char kFault[] =
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 1 has a total capacity of "
    "79.11 GiB of which 1.87 GiB is free. Including non-PyTorch memory, this process has 71.20 GiB memory in use.\n";

int FromEnvironment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : ParseNumber<int>(value).value_or(otherwise);
}

class KillTest : public testing::Test {
 protected:
  // `fail_point`: NAME:N, or empty.
  void StartCoordinator(const std::string& fail_point = "") {
    coordinator_.emplace(scratch_.path() / "data", port_, fail_point);
    ASSERT_FALSE(coordinator_->address().empty()) << "does not start again";
    port_ = coordinator_->port();
  }
  void StartAgent(const std::string& fail_point = "", bool once = false) {
    std::vector<std::string> words = AgentWords(coordinator_->address(), scratch_.path() / "spool", "run-7");
    for (const char* word : {"--host", "n01", "--root", root_.c_str(), "--log", "/rank*.log", "--ship", "all"}) words.push_back(word);
    if (once) words.push_back("--once");
    agent_.emplace(WithFailPoint(std::move(words), fail_point));
  }

  void Write(const std::string& text) {
    std::ofstream(root_ / "rank1.log", std::ios::app) << text;
    written_ += text;
  }
  // Numbered lines for so long; some writes end inside a line.
  void WriteFor(milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      std::string text;
      for (uint32_t i = 0, lines = 1 + random_() % 40; i < lines; ++i) text += Cat("[rank1]: line ", ++line_, ": loss 2.5\n");
      const size_t cut = random_() % text.size();
      Write(text.substr(0, cut));
      std::this_thread::sleep_for(milliseconds(2));
      Write(text.substr(cut));
    }
  }

  // Brings the rest in and compares.
  void ExpectEachLineOnce() {
    Write(kFault);
    if (!coordinator_) StartCoordinator();
    if (agent_) agent_->End(SIGKILL);
    StartAgent("", true);
    ASSERT_EQ(agent_->Wait(), 0) << "the rest was not acknowledged";
    const Result online = Why(coordinator_->address(), "run-7 --json --wait final");
    ASSERT_EQ(coordinator_->End(SIGTERM), 0);

    auto log = EventLog::Open(scratch_.path() / "data" / "run-7.0.recording");
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ((*log)->lost(), 0U);
    std::map<uint64_t, std::string> spans;
    size_t doubled = 0;
    ASSERT_TRUE((*log)->Read(1, [&](const v1::LoggedBatch& batch) {
      for (const v1::Record& record : batch.batch().record()) {
        if (record.has_span()) doubled += !spans.emplace(record.span().byte_offset(), record.span().raw()).second;
      }
      return true;
    }).ok());
    EXPECT_EQ(doubled, 0U);
    std::string text;
    for (const auto& [offset, raw] : spans) {
      ASSERT_EQ(offset, text.size()) << (offset < text.size() ? "bytes came twice" : "bytes are missing");
      text += raw;
    }
    EXPECT_TRUE(text == written_) << text.size() << " bytes of " << written_.size();

    fs::create_directories(scratch_.path() / "whole" / "n01");
    std::ofstream(scratch_.path() / "whole" / "n01" / "rank1.log") << written_;
    const Result offline = Shell(Cat("cd ", (scratch_.path() / "whole").string(), " && ", FIRSTFAULT_BINARY, " diagnose --json *"));
    EXPECT_EQ(online.code, offline.code);
    v1::Report expected = ParseReport(offline.out), report = ParseReport(online.out);
    EXPECT_EQ(report.verdict(), "named");
    // Offline a single folder need not be a host's.
    for (v1::Report* one : {&expected, &report}) one->mutable_root()->clear_host();
    EXPECT_EQ(report.root().DebugString(), expected.root().DebugString());
    EXPECT_EQ(report.confidence(), expected.confidence());
  }

  const Scratch scratch_;
  const fs::path root_ = scratch_.path();
  std::mt19937 random_{static_cast<uint32_t>(FromEnvironment("FIRSTFAULT_SEED", 1))};
  int port_ = 0;
  std::optional<Coordinator> coordinator_;
  std::optional<Child> agent_;
  std::string written_;
  int64_t line_ = 0;
};

TEST_F(KillTest, AtRandomMoments) {
  const int kills = FromEnvironment("FIRSTFAULT_KILLS", 30);
  StartCoordinator();
  StartAgent();
  for (int i = 0; i < kills; ++i) {
    WriteFor(milliseconds(random_() % 250));
    const uint32_t victims = 1 + random_() % 3;  // agent, coordinator, both
    if ((victims & 1) != 0) {
      EXPECT_EQ(agent_->End(SIGKILL), -SIGKILL) << "the agent had ended by itself";
      agent_.reset();
    }
    if ((victims & 2) != 0) {
      EXPECT_EQ(coordinator_->End(SIGKILL), -SIGKILL) << "the coordinator had ended by itself";
      coordinator_.reset();
      WriteFor(milliseconds(random_() % 20));
      StartCoordinator();
    }
    if (!agent_) StartAgent();
    if (HasFatalFailure()) return;
  }
  ExpectEachLineOnce();
  std::printf("%d kills, %ld lines, %zu bytes\n", kills, static_cast<long>(line_), written_.size());
}

TEST_F(KillTest, AtEveryNamedPlaceOfTheAgent) {
  StartCoordinator();
  for (const char* place : {"append.begin", "append.end", "ack.receive", "trim.begin", "trim.end"}) {
    for (const int pass : {1, 2}) {
      SCOPED_TRACE(Cat(place, ":", pass));
      StartAgent(Cat(place, ":", pass));
      // A trim comes every 64 batches, and so with many small ones.
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!agent_->HasEnded() && std::chrono::steady_clock::now() < patience) WriteFor(milliseconds(20));
      EXPECT_EQ(agent_->End(SIGTERM), -SIGKILL);
    }
  }
  ExpectEachLineOnce();
}

TEST_F(KillTest, AtEveryNamedPlaceOfTheCoordinator) {
  StartCoordinator();
  StartAgent();
  for (const char* place : {"append.begin", "append.end", "ack.send"}) {
    for (const int pass : {1, 3}) {
      SCOPED_TRACE(Cat(place, ":", pass));
      coordinator_->End(SIGKILL);
      StartCoordinator(Cat(place, ":", pass));
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!coordinator_->HasEnded() && std::chrono::steady_clock::now() < patience) WriteFor(milliseconds(20));
      EXPECT_EQ(coordinator_->End(SIGTERM), -SIGKILL);
      StartCoordinator();
      WriteFor(milliseconds(50));
    }
  }
  ExpectEachLineOnce();
}

TEST_F(KillTest, WhileALogIsRotated) {
  StartCoordinator();
  StartAgent("rotate:1");
  WriteFor(milliseconds(300));
  fs::rename(root_ / "rank1.log", root_ / "rank1.log.1");
  WriteFor(milliseconds(100));
  for (int i = 0; i < 200 && !agent_->HasEnded(); ++i) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(agent_->End(SIGTERM), -SIGKILL);
  StartAgent();
  WriteFor(milliseconds(100));
  // It has found the renamed file again, and leaves it after two quiet seconds.
  std::this_thread::sleep_for(milliseconds(3500));
  ExpectEachLineOnce();
}

TEST_F(KillTest, WhileADamagedRecordingIsRebuilt) {
  StartCoordinator();
  StartAgent();
  WriteFor(milliseconds(1500));
  Write(kFault);
  EXPECT_EQ(agent_->End(SIGTERM), 0);
  EXPECT_EQ(coordinator_->End(SIGTERM), 0);
  const fs::path recording = scratch_.path() / "data" / "run-7.0.recording";
  // Four pages say what is where; the sixth holds rows.
  constexpr std::streamoff kPageBytes = 4096;
  const std::streamoff page = 5 * kPageBytes;
  ASSERT_GT(fs::file_size(recording), static_cast<uintmax_t>(page));
  {
    std::fstream file(recording, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(page) << std::string(512, '\xa5');
  }
  for (const char* place : {"rebuild.built:1", "rebuild.named:1"}) {
    Coordinator killed(scratch_.path() / "data", port_, place);
    EXPECT_EQ(killed.address(), "");
    EXPECT_EQ(killed.End(SIGTERM), -SIGKILL);
  }
  StartCoordinator();
  EXPECT_TRUE(fs::exists(recording.string() + ".damaged"));
  const Result online = Why(coordinator_->address(), "run-7 --json");
  EXPECT_NE(online.out.find("of the recording are damaged"), std::string::npos) << online.out.substr(online.out.size() - std::min<size_t>(online.out.size(), 900));
}

}  // namespace
}  // namespace firstfault::e2e
