// The durable log: what was acknowledged is there after a crash, damage costs the damaged rows and is counted.
#include "proto/event_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace firstfault {
namespace {

namespace fs = std::filesystem;

v1::LoggedBatch Batch(uint64_t sequence, size_t bytes = 100, const std::string& spool = "spool") {
  v1::LoggedBatch out;
  out.set_host("n01");
  out.set_spool_id(spool);
  out.mutable_batch()->set_sequence(sequence);
  out.mutable_batch()->set_job("job");
  // Text that does not shrink to nothing, so that rows fill pages.
  std::string raw;
  uint64_t state = sequence * 2654435761u + 1;
  while (raw.size() < bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    raw += std::to_string(state);
  }
  out.mutable_batch()->add_record()->mutable_span()->set_raw(raw.substr(0, bytes));
  return out;
}

std::unique_ptr<EventLog> Opened(const fs::path& path) {
  auto log = EventLog::Open(path.string());
  EXPECT_TRUE(log.ok()) << log.status();
  return log.ok() ? *std::move(log) : nullptr;
}

std::vector<uint64_t> Sequences(EventLog* log, uint64_t from = 0) {
  std::vector<uint64_t> out;
  EXPECT_TRUE(log->Read(from, [&](const v1::LoggedBatch& batch) {
    // Nothing that was not appended ever comes out.
    v1::LoggedBatch expected = Batch(batch.batch().sequence(), batch.batch().record(0).span().raw().size(), batch.spool_id());
    expected.set_position(batch.position());
    EXPECT_EQ(batch.SerializeAsString(), expected.SerializeAsString());
    out.push_back(batch.batch().sequence());
    return true;
  }).ok());
  return out;
}

void Append(EventLog* log, uint64_t sequence, size_t bytes = 100, const std::string& spool = "spool") {
  v1::LoggedBatch batch = Batch(sequence, bytes, spool);
  const auto position = log->Append({&batch, 1});
  ASSERT_TRUE(position.ok()) << position.status();
}

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteFile(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// In a process of its own, which ends without closing anything.
template <typename Work>
void Killed(Work work) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// Leaves the log as a crash does: never closed.
void AppendUnclosed(const fs::path& path, uint64_t first, uint64_t count, size_t bytes) {
  auto log = EventLog::Open(path.string());
  if (!log.ok()) _exit(1);
  EventLog* open = log->release();
  for (uint64_t i = first; i < first + count; ++i) {
    v1::LoggedBatch batch = Batch(i, bytes);
    if (!open->Append({&batch, 1}).ok()) _exit(1);
  }
}

class EventLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "firstfault_log_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "log";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Empty() const {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
  }

  fs::path folder_, path_;
};

using Numbers = std::vector<uint64_t>;

TEST_F(EventLogTest, KeepsWhatWasAppended) {
  std::string id;
  {
    auto log = Opened(path_);
    EXPECT_EQ(log->next_position(), 1u);
    std::vector<v1::LoggedBatch> batches = {Batch(1), Batch(2), Batch(7, 50000, "other")};
    EXPECT_EQ(*log->Append(batches), 3u);
    Append(log.get(), 3);
    EXPECT_EQ(Sequences(log.get()), (Numbers{1, 2, 7, 3}));
    EXPECT_EQ(Sequences(log.get(), 3), (Numbers{7, 3}));
    id = log->id();
    EXPECT_EQ(id.size(), 32u);
  }
  auto log = Opened(path_);
  EXPECT_EQ(Sequences(log.get()), (Numbers{1, 2, 7, 3}));
  EXPECT_EQ(log->id(), id);
  EXPECT_EQ(log->next_position(), 5u);
  EXPECT_EQ(log->LastSequence("spool"), 3u);
  EXPECT_EQ(log->LastSequence("other"), 7u);
  EXPECT_EQ(log->LastSequence("third"), 0u);
  EXPECT_EQ(log->lost(), 0u);
}

TEST_F(EventLogTest, ReadingStopsWhenAsked) {
  auto log = Opened(path_);
  for (uint64_t i = 1; i <= 5; ++i) Append(log.get(), i);
  int seen = 0;
  ASSERT_TRUE(log->Read(0, [&](const v1::LoggedBatch&) { return ++seen < 2; }).ok());
  EXPECT_EQ(seen, 2);
}

TEST_F(EventLogTest, RefusesASequenceTwiceAndAppendsNothingOfIt) {
  auto log = Opened(path_);
  Append(log.get(), 4);
  std::vector<v1::LoggedBatch> batches = {Batch(5), Batch(4)};
  EXPECT_TRUE(absl::IsAlreadyExists(log->Append(batches).status()));
  EXPECT_EQ(Sequences(log.get()), Numbers{4});
  log = nullptr;
  log = Opened(path_);
  batches = {Batch(4)};
  EXPECT_TRUE(absl::IsAlreadyExists(log->Append(batches).status()));
  Append(log.get(), 4, 100, "other");
  EXPECT_EQ(Sequences(log.get()), (Numbers{4, 4}));
}

TEST_F(EventLogTest, RefusesWhatNoReaderWouldTake) {
  auto log = Opened(path_);
  v1::LoggedBatch batch = Batch(1, kLoggedBatchBytesMax);
  EXPECT_TRUE(absl::IsInvalidArgument(log->Append({&batch, 1}).status()));
  Append(log.get(), 1);
}

TEST_F(EventLogTest, TrimForgetsAndPositionsGoOn) {
  auto log = Opened(path_);
  for (uint64_t i = 1; i <= 5; ++i) Append(log.get(), i, 10000);
  const uint64_t before = log->bytes();
  ASSERT_TRUE(log->Trim(3).ok());
  EXPECT_EQ(Sequences(log.get()), (Numbers{4, 5}));
  EXPECT_LT(log->bytes(), before / 2);
  ASSERT_TRUE(log->Trim(100).ok());
  EXPECT_EQ(log->bytes(), 0u);
  const std::string id = log->id();
  log = nullptr;
  log = Opened(path_);
  EXPECT_EQ(log->id(), id);
  EXPECT_EQ(log->next_position(), 6u);
  EXPECT_EQ(log->lost(), 0u);
  Append(log.get(), 6);
  EXPECT_EQ(Sequences(log.get()), Numbers{6});
}

TEST_F(EventLogTest, AKilledWriterLosesNothing) {
  for (uint64_t round = 0; round < 5; ++round) {
    Killed([&] { AppendUnclosed(path_, round * 4 + 1, 4, 3000); });
  }
  auto log = Opened(path_);
  EXPECT_EQ(Sequences(log.get()).size(), 20u);
  EXPECT_EQ(log->lost(), 0u);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().string().find("damaged"), std::string::npos) << "a crash is no damage";
  }
}

// One wrong byte costs at most the rows of one page, or a single large row; every other row is there.
TEST_F(EventLogTest, AFlippedByteCostsAtMostItsPage) {
  constexpr uint64_t kRows = 12;
  {
    auto log = Opened(path_);
    for (uint64_t i = 1; i <= kRows; ++i) Append(log.get(), i, i % 4 == 0 ? 6000 : 1500);
  }
  const std::string whole = ReadFile(path_);
  size_t rebuilt = 0;
  for (size_t at = 0; at < whole.size(); at += at < 100 || at % 4096 < 12 ? 1 : 307) {
    Empty();
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    WriteFile(path_, bytes);
    auto log = Opened(path_);
    ASSERT_NE(log, nullptr) << at;
    const Numbers kept = Sequences(log.get());
    EXPECT_GE(kept.size() + 5, kRows) << at;
    const uint64_t tail = kRows + 1 - log->next_position();
    EXPECT_EQ(kept.size() + log->lost() + tail, kRows) << at;
    rebuilt += fs::exists(path_.string() + ".damaged");
    Append(log.get(), 100);
    log = nullptr;
    EXPECT_EQ(Sequences(Opened(path_).get()).size(), kept.size() + 1) << at;
  }
  EXPECT_GT(rebuilt, 20u);
}

TEST_F(EventLogTest, AFlippedByteInTheWriteAheadLogCostsAtMostItsRow) {
  constexpr uint64_t kRows = 6;
  Killed([&] { AppendUnclosed(path_, 1, kRows, 1500); });
  const std::string main = ReadFile(path_), wal = ReadFile(path_.string() + "-wal");
  ASSERT_GT(wal.size(), 4096u);
  for (size_t at = 0; at < wal.size(); at += at < 56 ? 1 : 997) {
    Empty();
    std::string bytes = wal;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    WriteFile(path_, main);
    WriteFile(path_.string() + "-wal", bytes);
    auto log = Opened(path_);
    ASSERT_NE(log, nullptr) << at;
    EXPECT_GE(Sequences(log.get()).size() + 2, kRows) << at;
  }
}

TEST_F(EventLogTest, ATruncatedFileKeepsWhatIsLeft) {
  {
    auto log = Opened(path_);
    for (uint64_t i = 1; i <= 20; ++i) Append(log.get(), i, 1500);
  }
  const std::string whole = ReadFile(path_);
  size_t most = 0;
  for (size_t size = 0; size <= whole.size(); size += 2048) {
    Empty();
    WriteFile(path_, whole.substr(0, size));
    auto log = Opened(path_);
    ASSERT_NE(log, nullptr) << size;
    const size_t kept = Sequences(log.get()).size();
    EXPECT_GE(kept + 2, most) << "more bytes, fewer rows";
    most = std::max(most, kept);
    Append(log.get(), 100);
  }
  EXPECT_EQ(most, 20u);
}

TEST_F(EventLogTest, AnotherProgramsFileIsSetAside) {
  WriteFile(path_, std::string(10000, 'x'));
  auto log = Opened(path_);
  Append(log.get(), 1);
  EXPECT_EQ(ReadFile(path_.string() + ".damaged"), std::string(10000, 'x'));
}

TEST_F(EventLogTest, ARebuildThatWasCutShortIsFinished) {
  {
    auto log = Opened(path_);
    Append(log.get(), 1);
  }
  fs::rename(path_, path_.string() + ".rebuilt");
  WriteFile(path_, "what was damaged");
  EXPECT_EQ(Sequences(Opened(path_).get()), Numbers{1});
  EXPECT_FALSE(fs::exists(path_.string() + ".rebuilt"));
}

TEST_F(EventLogTest, AFullDiskIsAStatusAndPasses) {
  signal(SIGXFSZ, SIG_IGN);
  auto log = Opened(path_);
  Append(log.get(), 1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full = {64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  v1::LoggedBatch batch = Batch(2, 1 << 20);
  const absl::Status status = log->Append({&batch, 1}).status();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Sequences(log.get()), Numbers{1});
  Append(log.get(), 2);
  log = nullptr;
  EXPECT_EQ(Sequences(Opened(path_).get()), (Numbers{1, 2}));
}

TEST_F(EventLogTest, NoPlaceForAFileIsAnError) {
  EXPECT_FALSE(EventLog::Open((folder_ / "missing" / "log").string()).ok());
}

}  // namespace
}  // namespace firstfault
