// Recordings: durable per job and attempt, each batch once, in the order of its spool.
#include "coordinator/recording.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace firstfault {
namespace {

namespace fs = std::filesystem;

v1::LoggedBatch Batch(const std::string& spool, uint64_t sequence, const std::string& job = "job", uint32_t attempt = 0) {
  v1::LoggedBatch out;
  out.set_host("host-" + spool);
  out.set_spool_id(spool);
  out.set_arrived_ns(static_cast<int64_t>(sequence) * 1000);
  out.mutable_batch()->set_sequence(sequence);
  out.mutable_batch()->set_job(job);
  out.mutable_batch()->set_attempt(attempt);
  out.mutable_batch()->add_record()->mutable_step_mark()->set_step(static_cast<int64_t>(sequence));
  return out;
}

class RecordingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "firstfault_recording_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Recordings> Open() const {
    auto recordings = Recordings::Open((folder_ / "data").string());
    EXPECT_TRUE(recordings.ok()) << recordings.status();
    return recordings.ok() ? *std::move(recordings) : nullptr;
  }

  static std::vector<uint64_t> Sequences(const Recordings& recordings, const JobKey& key) {
    std::vector<uint64_t> out;
    const auto batches = recordings.Read(key);
    if (!batches.ok()) return out;
    for (const v1::LoggedBatch& batch : *batches) out.push_back(batch.batch().sequence());
    return out;
  }

  fs::path folder_;
};

using Numbers = std::vector<uint64_t>;

TEST_F(RecordingTest, DropsDuplicatesAndGoesOnWhereItWas) {
  {
    auto recordings = Open();
    EXPECT_EQ(recordings->NextSequence("a"), 1u);
    ASSERT_TRUE(recordings->Append({Batch("a", 1), Batch("a", 2), Batch("b", 1), Batch("a", 2)}).ok());
    ASSERT_TRUE(recordings->Append({Batch("a", 1), Batch("a", 3)}).ok());
    EXPECT_EQ(recordings->NextSequence("a"), 4u);
  }
  auto recordings = Open();
  EXPECT_EQ(recordings->NextSequence("a"), 4u);
  EXPECT_EQ(recordings->NextSequence("b"), 2u);
  ASSERT_TRUE(recordings->Append({Batch("a", 3), Batch("b", 2)}).ok());
  EXPECT_EQ(Sequences(*recordings, {"job", 0}), (Numbers{1, 2, 1, 3, 2}));
  const auto summary = recordings->SummaryOf({"job", 0});
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->batches, 5u);
  EXPECT_EQ(summary->records, 5u);
  EXPECT_EQ(summary->hosts, (std::set<std::string>{"host-a", "host-b"}));
  EXPECT_EQ(summary->first_ns, 1000);
  EXPECT_EQ(summary->last_ns, 3000);
}

TEST_F(RecordingTest, ASpoolThatServesManyJobsKeepsItsOrder) {
  {
    auto recordings = Open();
    ASSERT_TRUE(recordings->Append({Batch("a", 1, "x"), Batch("a", 2, "y"), Batch("a", 3, "x"), Batch("a", 4, "x", 1)}).ok());
  }
  auto recordings = Open();
  EXPECT_EQ(Sequences(*recordings, {"x", 0}), (Numbers{1, 3}));
  EXPECT_EQ(Sequences(*recordings, {"y", 0}), Numbers{2});
  EXPECT_EQ(Sequences(*recordings, {"x", 1}), Numbers{4});
  EXPECT_EQ(recordings->NextSequence("a"), 5u);
  ASSERT_EQ(recordings->Summaries().size(), 3u);
  EXPECT_EQ(recordings->Summaries().front().key, (JobKey{"x", 1}));
}

// Where the disk refuses one job's file, nothing later of that spool may become durable in another.
TEST_F(RecordingTest, WhatFailsHoldsBackWhatFollowsIt) {
  auto recordings = Open();
  ASSERT_TRUE(recordings->Append({Batch("a", 1, "x")}).ok());
  fs::create_directories(folder_ / "data" / "y.0.recording");
  EXPECT_FALSE(recordings->Append({Batch("a", 2, "y"), Batch("a", 3, "x")}).ok());
  EXPECT_EQ(recordings->NextSequence("a"), 2u);
  EXPECT_EQ(Sequences(*recordings, {"x", 0}), Numbers{1});
}

TEST_F(RecordingTest, AnyNameOfAJobStaysInTheFolder) {
  const std::string names[] = {"../../etc/passwd", ".", "a b", "50%", "a.b", std::string("\0\xc3\xa9", 3), std::string(kJobNameBytesMax, '/')};
  {
    auto recordings = Open();
    uint64_t sequence = 0;
    for (const std::string& name : names) ASSERT_TRUE(recordings->Append({Batch("a", ++sequence, name)}).ok()) << name;
  }
  auto recordings = Open();
  uint64_t sequence = 0;
  for (const std::string& name : names) EXPECT_EQ(Sequences(*recordings, {name, 0}), Numbers{++sequence}) << name;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    EXPECT_TRUE(entry.is_directory() || entry.path().parent_path() == folder_ / "data") << entry.path();
  }
}

TEST_F(RecordingTest, FilesOfOthersAreLeftAlone) {
  fs::create_directories(folder_ / "data");
  std::FILE* file = std::fopen((folder_ / "data" / "notes.txt").c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  EXPECT_TRUE(Open()->Summaries().empty());
}

TEST_F(RecordingTest, WhatIsForgottenIsNotSentAgain) {
  auto recordings = Open();
  ASSERT_TRUE(recordings->Append({Batch("s", 1, "a"), Batch("s", 2, "a"), Batch("t", 1, "b")}).ok());
  EXPECT_GT(recordings->Summaries()[0].file_bytes, 0u);
  ASSERT_TRUE(recordings->Forget({"a", 0}).ok());
  EXPECT_FALSE(recordings->Forget({"a", 0}).ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(recordings->Summaries().size(), 1u);
    EXPECT_EQ(recordings->NextSequence("s"), 3u);
    EXPECT_EQ(recordings->NextSequence("t"), 2u);
    for (const auto& entry : fs::directory_iterator(folder_ / "data")) EXPECT_FALSE(entry.path().filename().string().starts_with("a.0")) << entry.path();
    recordings = nullptr;  // two logs of one file must not be open
    recordings = Open();
  }
  // The job may come back.
  ASSERT_TRUE(recordings->Append({Batch("s", 2, "a"), Batch("s", 3, "a")}).ok());
  EXPECT_EQ(Sequences(*recordings, {"a", 0}), std::vector<uint64_t>({3}));
  ASSERT_TRUE(recordings->Forget({"a", 0}).ok());
  EXPECT_EQ(recordings->NextSequence("s"), 4u);
}

TEST(Refusal, SaysWhatIsWrong) {
  EXPECT_EQ(RefusalOf(Batch("a", 1).batch()), std::nullopt);
  EXPECT_EQ(RefusalOf(Batch("a", 0).batch()), "a batch has no sequence number");
  EXPECT_EQ(RefusalOf(Batch("a", 1, "").batch()), "a batch names no job");
  EXPECT_NE(RefusalOf(Batch("a", 1, std::string(kJobNameBytesMax + 1, 'x')).batch()), std::nullopt);
  v1::Batch batch = Batch("a", 1).batch();
  v1::Span* span = batch.add_record()->mutable_span();
  span->set_byte_offset(kSourceBytesMax);
  span->set_first_line(kSourceLinesMax);
  EXPECT_EQ(RefusalOf(batch), std::nullopt);
  span->set_byte_offset(kSourceBytesMax + 1);
  EXPECT_EQ(RefusalOf(batch), "a record is about a place that no log has");
}

}  // namespace
}  // namespace firstfault
