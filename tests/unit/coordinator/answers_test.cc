// When an answer is there, and when it is final.
#include "coordinator/answers.h"

#include <gtest/gtest.h>

#include "tests/unit/coordinator/recordings_fixture.h"

namespace firstfault {
namespace {

class AnswersTest : public RecordingsTest {
 protected:
  void SetUp() override {
    RecordingsTest::SetUp();
    if (HasFatalFailure()) return;
    answers_ = std::make_unique<Answers>(&BuiltInEngine(), recordings_.get(), &agents_);
  }
  // Records one more batch of the job, `fill` its record.
  template <typename Fill>
  void Add(const std::string& job, int64_t arrived_ns, Fill fill) {
    v1::LoggedBatch batch;
    batch.set_host("n01");
    batch.set_spool_id("s");
    batch.set_arrived_ns(arrived_ns);
    batch.mutable_batch()->set_sequence(++sequence_);
    batch.mutable_batch()->set_job(job);
    fill(batch.mutable_batch()->add_record());
    ASSERT_TRUE(recordings_->Append({batch}).ok());
  }
  void Open(const std::string& job, int64_t arrived_ns) {
    Add(job, arrived_ns, [](v1::Record* record) {
      record->mutable_source_opened()->set_source(1);
      record->mutable_source_opened()->set_path("rank1.log");
    });
  }
  void Fail(const std::string& job, int64_t arrived_ns) {
    Add(job, arrived_ns, [](v1::Record* record) {
      record->mutable_span()->set_source(1);
      record->mutable_span()->set_first_line(1);
      record->mutable_span()->set_raw(kOom);
    });
  }

  // "no answer", the error, or "finality verdict".
  std::string Ask(const std::string& job, const std::string& wait, int64_t now_ns = 0, int64_t waited_ns = 0) {
    v1::WhyRequest request;
    request.set_job(job);
    request.set_wait(wait);
    const auto answer = answers_->Why(request, now_ns, waited_ns);
    if (!answer) return "no answer";
    if (!answer->ok()) return std::string((*answer).status().message());
    const v1::Report& report = (**answer).report();
    return report.state().finality() + " " + report.verdict();
  }

  Agents agents_;
  std::unique_ptr<Answers> answers_;
  uint64_t sequence_ = 0;
};

TEST_F(AnswersTest, AWaitEndsWhenThereIsEnough) {
  EXPECT_EQ(Ask("j", ""), "nothing is recorded of job j");
  EXPECT_EQ(Ask("j", "provisional"), "no answer");
  EXPECT_EQ(Ask("j", "provisional", 0, kWaitDefaultNs), "nothing is recorded of job j");
  Open("j", 1);
  EXPECT_EQ(Ask("j", ""), "provisional no_failure");
  EXPECT_EQ(Ask("j", "provisional"), "no answer");
  Fail("j", 2);
  EXPECT_EQ(Ask("j", "provisional"), "provisional named");
  EXPECT_EQ(Ask("j", "final"), "no answer");
  EXPECT_EQ(Ask("j", "final", 0, kWaitDefaultNs), "provisional named");
  Add("j", 3, [](v1::Record* record) { record->mutable_source_closed()->set_source(1); });
  EXPECT_EQ(Ask("j", "final"), "final named");
  EXPECT_EQ(Ask("j", "soon"), "wait is provisional, final or empty");
}

TEST_F(AnswersTest, QuietAfterTheLaunchersEndIsFinal) {
  Open("j", 1);
  Fail("j", 2);
  EXPECT_EQ(Ask("j", "final", 2 + kQuietNs), "no answer") << "the launcher runs";
  Add("j", 1000, [](v1::Record* record) { record->mutable_job_closed()->set_exit_code(1); });
  EXPECT_EQ(Ask("j", "final", 999 + kQuietNs), "no answer");
  EXPECT_EQ(Ask("j", "final", 1000 + kQuietNs), "final named");
}

TEST_F(AnswersTest, AQuietJobIsStalledAndSaysForWhom) {
  Open("j", 1);
  Add("j", 2, [](v1::Record* record) {
    std::string text;
    for (int step = 0; step < 80; ++step) {
      for (int rank = 0; rank < 4; ++rank) {
        if (rank != 2 || step < 6) text += "[rank" + std::to_string(rank) + "]: step " + std::to_string(step) + ": loss 2.5\n";
      }
    }
    record->mutable_span()->set_source(1);
    record->mutable_span()->set_first_line(1);
    record->mutable_span()->set_raw(text);
  });
  const RecordingSummary summary = recordings_->Summaries().front();
  // While it runs, a log may arrive later than another.
  const v1::Report running = *answers_->ReportOf(summary, 2 + kStallAfterNs - 1);
  EXPECT_EQ(running.state().state(), "running");
  EXPECT_EQ(running.verdict(), "no_failure");
  const v1::Report report = *answers_->ReportOf(summary, 2 + kStallAfterNs);
  EXPECT_EQ(report.verdict(), "undetermined");
  const v1::State& stalled = report.state();
  EXPECT_EQ(stalled.state(), "stalled");
  EXPECT_EQ(stalled.finality(), "provisional");
  EXPECT_EQ(stalled.since_ns(), 2);
  EXPECT_EQ(stalled.waiting_for().rank(), 2);
}

TEST_F(AnswersTest, WhenNoAgentCanAddToItAVerdictIsFinal) {
  v1::Hello hello;
  hello.set_host("n01");
  hello.set_spool_id("s");
  const int stream = 0;
  agents_.Greeted(&stream, hello, 1, [](v1::CoordinatorMessage) {});
  agents_.Sent(&stream, {"j", 0});
  Open("j", 1);
  Fail("j", 2);
  EXPECT_EQ(Ask("j", "", 1 + kAgentStaleNs), "provisional named");
  agents_.Gone(&stream);
  EXPECT_EQ(Ask("j", "", kAgentStaleNs), "provisional named");
  EXPECT_EQ(Ask("j", "", 1 + kAgentStaleNs), "final named");
}

TEST_F(AnswersTest, WithoutAJobTheNewestFailedOneIsMeant) {
  EXPECT_EQ(Ask("", ""), "no job has failed");
  Open("old", 1);
  Fail("old", 2);
  Open("good", 3);
  v1::WhyRequest request;
  auto answer = answers_->Why(request, 0, 0);
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_EQ((**answer).job(), "old");
  Open("new", 4);
  Fail("new", 5);
  answer = answers_->Why(request, 0, 0);
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_EQ((**answer).job(), "new");
}

TEST_F(AnswersTest, JobsAreListedNewestFirst) {
  Open("a", 1);
  Open("b", 2);
  Fail("b", 3);
  v1::JobsReply jobs = answers_->Jobs({}, 0);
  ASSERT_EQ(jobs.job_size(), 2);
  EXPECT_EQ(jobs.job(0).job(), "b");
  EXPECT_EQ(jobs.job(0).state(), "failed");
  EXPECT_EQ(jobs.job(0).verdict(), "named");
  EXPECT_EQ(jobs.job(0).records(), 2u);
  EXPECT_EQ(jobs.job(0).hosts(), 1u);
  EXPECT_EQ(jobs.job(1).state(), "running");
  v1::JobsRequest one;
  one.set_limit(1);
  EXPECT_EQ(answers_->Jobs(one, 0).job_size(), 1);
}

}  // namespace
}  // namespace firstfault
