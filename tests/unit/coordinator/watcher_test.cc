// A coordinator notices by itself.
#include "coordinator/watcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>
#include "tests/unit/coordinator/recordings_fixture.h"

namespace firstfault {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

class WatcherTest : public RecordingsTest {
 protected:
  void SetUp() override {
    RecordingsTest::SetUp();
    if (HasFatalFailure()) return;
    answers_ = std::make_unique<Answers>(&BuiltInEngine(), recordings_.get(), &agents_);
    watcher_ = std::make_unique<Watcher>(answers_.get(), recordings_.get(), &agents_, [this] { return now_ns_; },
                                         [this](const std::string& line) { said_.push_back(line); });
    v1::Hello hello;
    hello.set_host("n01");
    hello.set_spool_id("s");
    agents_.Greeted(this, hello, now_ns_, [this](v1::CoordinatorMessage message) { asked_ += message.evidence_request().tails(); });
    agents_.Sent(this, {"j", 0});
    Add([](v1::Record* record) {
      record->mutable_source_opened()->set_source(1);
      record->mutable_source_opened()->set_path("rank1.log");
    });
  }
  template <typename Fill>
  void Add(Fill fill) {
    v1::LoggedBatch batch;
    batch.set_host("n01");
    batch.set_spool_id("s");
    batch.set_arrived_ns(now_ns_);
    batch.mutable_batch()->set_sequence(++sequence_);
    batch.mutable_batch()->set_job("j");
    fill(batch.mutable_batch()->add_record());
    ASSERT_TRUE(recordings_->Append({batch}).ok());
  }
  void Span(const std::string& raw) {
    Add([&](v1::Record* record) {
      record->mutable_span()->set_source(1);
      record->mutable_span()->set_byte_offset(offset_);
      record->mutable_span()->set_first_line(++line_);
      record->mutable_span()->set_raw(raw);
      record->mutable_span()->set_reason(v1::Span::MATCH);
      offset_ += raw.size();
    });
  }
  // What it said of one look, so long after the last one.
  std::string Look(int64_t after_ns) {
    now_ns_ += after_ns;
    said_.clear();
    watcher_->Look();
    return said_.empty() ? "" : said_.size() == 1 ? said_[0].substr(0, said_[0].find(": ", 7)) : "several";
  }

  Agents agents_;
  std::unique_ptr<Answers> answers_;
  std::unique_ptr<Watcher> watcher_;
  int64_t now_ns_ = 1000 * kSecondNs;
  uint64_t sequence_ = 0, offset_ = 0, line_ = 0;
  std::vector<std::string> said_;
  int asked_ = 0;
};

TEST_F(WatcherTest, AFailureIsToldOnceAndTheOthersAreAsked) {
  Span("[rank1]: iter 1: loss 2.5\n");
  EXPECT_EQ(Look(kSecondNs), "");
  Span(kOom);
  EXPECT_EQ(Look(kSecondNs), "job j: failed provisional");
  EXPECT_NE(said_[0].find("rank 1"), std::string::npos) << said_[0];
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(Look(kSecondNs), "");
  Add([](v1::Record* record) { record->mutable_job_closed()->set_exit_code(1); });
  EXPECT_EQ(Look(kSecondNs), "");
  EXPECT_EQ(Look(kQuietNs), "job j: failed final");
  EXPECT_EQ(Look(10 * kSecondNs), "");
  EXPECT_EQ(asked_, 1);
}

TEST_F(WatcherTest, ASilentJobIsToldAndAsked) {
  Span("[rank1]: iter 1: loss 2.5\n");
  EXPECT_EQ(Look(kSecondNs), "");
  EXPECT_EQ(Look(kStallAfterNs), "job j: stalled provisional");
  EXPECT_EQ(asked_, 1);
  Span("[rank1]: iter 2: loss 2.5\n");
  EXPECT_EQ(Look(kSecondNs), "job j: runs again");
  EXPECT_EQ(Look(kSecondNs), "");
}

TEST_F(WatcherTest, LooksAreRare) {
  Span(kOom);
  EXPECT_EQ(Look(kSecondNs), "job j: failed provisional");
  Add([](v1::Record* record) { record->mutable_source_closed()->set_source(1); });
  EXPECT_EQ(Look(kLookAgainAfterNs - 1), "");
  EXPECT_EQ(Look(1), "job j: failed final");
}

}  // namespace
}  // namespace firstfault
