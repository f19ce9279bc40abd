// The protocol without sockets.
#include "coordinator/ingest_session.h"

#include <gtest/gtest.h>

#include "tests/unit/coordinator/recordings_fixture.h"

namespace firstfault {
namespace {

class IngestSessionTest : public RecordingsTest {
 protected:
  static v1::AgentMessage Hello(const std::string& host = "n01", const std::string& spool = "s") {
    v1::AgentMessage message;
    message.mutable_hello()->set_host(host);
    message.mutable_hello()->set_spool_id(spool);
    message.mutable_hello()->set_boot_id("boot");
    return message;
  }
  static v1::AgentMessage Batch(uint64_t sequence, const std::string& job) {
    v1::AgentMessage message;
    message.mutable_batch()->set_sequence(sequence);
    message.mutable_batch()->set_job(job);
    return message;
  }

};

TEST_F(IngestSessionTest, AHelloLearnsWhereToGoOn) {
  IngestSession first(recordings_.get(), "me", {});
  EXPECT_EQ(first.Handle(Hello(), 5).reply->welcome().next_sequence(), 1u);
  auto step = first.Handle(Batch(1, "job"), 7);
  ASSERT_TRUE(step.batch);
  EXPECT_EQ(step.ack->ack().sequence(), 1u);
  const v1::LoggedBatch logged = first.Logged(*step.batch, 7);
  EXPECT_EQ(logged.host(), "n01");
  EXPECT_EQ(logged.boot_id(), "boot");
  EXPECT_EQ(logged.spool_id(), "s");
  EXPECT_EQ(logged.arrived_ns(), 7);
  ASSERT_TRUE(recordings_->Append({logged}).ok());
  IngestSession second(recordings_.get(), "me", {});
  const auto welcome = second.Handle(Hello(), 9);
  EXPECT_EQ(welcome.reply->welcome().next_sequence(), 2u);
  EXPECT_EQ(welcome.reply->welcome().coordinator_id(), "me");
}

TEST_F(IngestSessionTest, WhatComesOutOfTurnEndsTheStream) {
  IngestSession session(recordings_.get(), "me", {});
  EXPECT_TRUE(session.Handle(Batch(1, "job"), 1).end);
  EXPECT_TRUE(IngestSession(recordings_.get(), "me", {}).Handle(Hello("", "s"), 1).end);
  EXPECT_TRUE(IngestSession(recordings_.get(), "me", {}).Handle(Hello("n01", ""), 1).end);
  EXPECT_TRUE(IngestSession(recordings_.get(), "me", {}).Handle(Hello(std::string(300, 'x')), 1).end);
  EXPECT_FALSE(session.Handle(Hello(), 1).end);
  EXPECT_TRUE(session.Handle(Hello(), 1).end);
}

TEST_F(IngestSessionTest, ARefusedBatchIsAcknowledgedAndCounted) {
  IngestSession session(recordings_.get(), "me", {});
  session.Handle(Hello(), 1);
  const auto refused = session.Handle(Batch(4, ""), 1);
  EXPECT_FALSE(refused.batch);
  EXPECT_EQ(refused.ack->ack().sequence(), 4u);
  EXPECT_EQ(refused.ack->ack().refused(), 1u);
  EXPECT_EQ(refused.ack->ack().refusal(), "a batch names no job");
  const auto good = session.Handle(Batch(5, "job"), 1);
  EXPECT_TRUE(good.batch);
  EXPECT_EQ(good.ack->ack().refused(), 1u);
}

TEST_F(IngestSessionTest, ProbesAreAnsweredAndWhatIsUnknownIsIgnored) {
  IngestSession session(recordings_.get(), "me", {});
  session.Handle(Hello(), 1);
  v1::AgentMessage probe;
  probe.mutable_clock_probe()->set_number(3);
  const auto reply = session.Handle(probe, 77);
  EXPECT_EQ(reply.reply->clock_reply().number(), 3u);
  EXPECT_EQ(reply.reply->clock_reply().received_ns(), 77);
  v1::AgentMessage beat;
  beat.mutable_heartbeat();
  for (const v1::AgentMessage& message : {beat, v1::AgentMessage()}) {
    const auto step = session.Handle(message, 1);
    EXPECT_FALSE(step.reply || step.ack || step.batch || step.end);
  }
}

TEST_F(IngestSessionTest, WhatAGrantDoesNotAllowEndsTheStreamAndIsNotRecorded) {
  const std::string secret(32, 's');
  const auto grant = Access::Of(secret)->Admit({std::vector<std::string>{"n01"}, TokenFor(secret, "job:a").value(), ""});
  ASSERT_TRUE(grant.ok());
  IngestSession other_host(recordings_.get(), "me", *grant);
  const auto step = other_host.Handle(Hello("n02"), 1);
  ASSERT_TRUE(step.end);
  EXPECT_EQ(step.end->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(step.refused, Counter::kRefusedHost);

  IngestSession session(recordings_.get(), "me", *grant);
  EXPECT_TRUE(session.Handle(Hello("n01"), 1).reply);
  EXPECT_TRUE(session.Handle(Batch(1, "a"), 1).batch);
  const auto other_job = session.Handle(Batch(2, "b"), 1);
  ASSERT_TRUE(other_job.end);
  EXPECT_FALSE(other_job.batch || other_job.ack) << "an acknowledged batch would be forgotten by its agent";
  EXPECT_EQ(other_job.end->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(other_job.refused, Counter::kRefusedJob);
}

TEST_F(IngestSessionTest, NewJobsWaitWhileThereIsNoRoom) {
  const auto small = Recordings::Open((folder_ / "small").string(), 1);
  ASSERT_TRUE(small.ok());
  IngestSession session(small->get(), "me", {});
  session.Handle(Hello(), 1);
  auto step = session.Handle(Batch(1, "a"), 1);
  ASSERT_TRUE(step.batch);
  ASSERT_TRUE((*small)->Append({session.Logged(*step.batch, 1)}).ok());
  EXPECT_TRUE(session.Handle(Batch(2, "a"), 1).batch) << "what is recorded goes on";
  const auto other = session.Handle(Batch(3, "b"), 1);
  ASSERT_TRUE(other.end);
  EXPECT_EQ(other.end->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(other.refused, Counter::kRefusedRoom);
}

}  // namespace
}  // namespace firstfault
