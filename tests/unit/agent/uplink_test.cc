// Uplink: what is sent when, against a stream that the test plays.
#include "agent/uplink.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/agent/temp_folder.h"

namespace firstfault::agent {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

class FakeStream : public Stream {
 public:
  void Connect() override {
    ++connects;
    open = true;
    sent.clear();
  }
  void Send(const v1::AgentMessage& message) override { sent.push_back(message); }
  size_t queued_bytes() const override { return queued; }
  void Close() override { open = false; }

  std::vector<uint64_t> Batches() const {
    std::vector<uint64_t> out;
    for (const v1::AgentMessage& message : sent) {
      if (message.has_batch()) out.push_back(message.batch().sequence());
    }
    return out;
  }

  int connects = 0;
  bool open = false;
  size_t queued = 0;
  std::vector<v1::AgentMessage> sent;
};

class UplinkTest : public testing::Test {
 protected:
  UplinkTest() : spool_(*Spool::Open(folder_.Path("spool"))), uplink_(Hello(), *spool_, stream_, 7) {}
  static v1::Hello Hello() {
    v1::Hello hello;
    hello.set_spool_id("spool");
    return hello;
  }
  void AddBatches(int count, size_t bytes = 10) {
    for (int i = 0; i < count; ++i) {
      v1::Record record;
      record.mutable_span()->set_raw(std::string(bytes, 'x'));
      spool_->Add(0, record);
      v1::SpoolState state;
      state.set_job("job");
      ASSERT_TRUE(spool_->Commit(state).ok());
    }
  }
  Moment At(double seconds) { return {0, static_cast<int64_t>(seconds * 1e9)}; }
  void Welcome(double seconds, uint64_t next) {
    v1::CoordinatorMessage message;
    message.mutable_welcome()->set_next_sequence(next);
    uplink_.OnMessage(At(seconds), message);
  }
  void Ack(double seconds, uint64_t sequence) {
    v1::CoordinatorMessage message;
    message.mutable_ack()->set_sequence(sequence);
    uplink_.OnMessage(At(seconds), message);
  }

  TempFolder folder_;
  std::unique_ptr<Spool> spool_;
  FakeStream stream_;
  Uplink uplink_;
};

TEST_F(UplinkTest, GreetsAndGoesOnWhereTheCoordinatorSays) {
  AddBatches(5);
  uplink_.Tick(At(0));
  ASSERT_EQ(stream_.sent.size(), 1U);
  EXPECT_EQ(stream_.sent[0].hello().spool_id(), "spool");
  uplink_.Tick(At(1));
  EXPECT_EQ(stream_.sent.size(), 1U) << "nothing before the Welcome";
  Welcome(1, 3);
  uplink_.Tick(At(1));
  EXPECT_EQ(stream_.Batches(), (std::vector<uint64_t>{3, 4, 5}));
  uplink_.Tick(At(1.1));
  EXPECT_EQ(stream_.Batches().size(), 3U) << "once a stream";
  Ack(1.2, 5);
  EXPECT_TRUE(spool_->all_acknowledged());
}

TEST_F(UplinkTest, SendsAgainWhatAnEndedStreamDidNotAcknowledge) {
  AddBatches(3);
  uplink_.Tick(At(0));
  Welcome(0, 1);
  uplink_.Tick(At(0));
  Ack(0.1, 1);
  uplink_.OnEnd(At(0.2));
  uplink_.Tick(At(0.2));
  EXPECT_EQ(stream_.connects, 1) << "not at once";
  uplink_.Tick(At(1));
  EXPECT_EQ(stream_.connects, 2);
  Welcome(1, 2);
  uplink_.Tick(At(1));
  EXPECT_EQ(stream_.Batches(), (std::vector<uint64_t>{2, 3}));
}

TEST_F(UplinkTest, StaysWithinItsWindow) {
  AddBatches(10, 1 << 20);
  uplink_.Tick(At(0));
  Welcome(0, 1);
  uplink_.Tick(At(0));
  EXPECT_EQ(stream_.Batches().size(), kUnackedBytesMax >> 20);
  Ack(0, 2);
  uplink_.Tick(At(0));
  EXPECT_EQ(stream_.Batches().back(), (kUnackedBytesMax >> 20) + 2);
  Ack(0, 6);
  stream_.queued = kQueuedBytesMax;
  uplink_.Tick(At(0));
  EXPECT_EQ(stream_.Batches().back(), (kUnackedBytesMax >> 20) + 2) << "the stream itself is full";
}

TEST_F(UplinkTest, PausesLongerEachTimeAndLeavesASilentStream) {
  double now = 0;
  std::vector<double> pauses;
  for (int i = 0; i < 12; ++i) {
    const int before = stream_.connects;
    const double from = now;
    while (stream_.connects == before) uplink_.Tick(At(now += 0.05));
    pauses.push_back(now - from);
    if (i % 2 == 0) {
      uplink_.OnEnd(At(now));
    } else {
      while (stream_.open) uplink_.Tick(At(now += 0.05));
    }
  }
  EXPECT_LE(pauses[1], 0.4);
  EXPECT_GE(pauses[11], 10);
  EXPECT_LE(pauses[11], 1.5 * static_cast<double>(kBackoffMaxNs) / kSecondNs + 1);
}

TEST_F(UplinkTest, BeatsAndProbes) {
  uplink_.Tick(At(0));
  Welcome(0, 1);
  for (double now = 0; now < 12; now += 0.01) {
    uplink_.Tick(At(now));
    v1::CoordinatorMessage message;
    if (now >= 0.01) {
      message.mutable_clock_reply()->set_number(1);
      uplink_.OnMessage(At(now), message);
    }
  }
  size_t beats = 0, probes = 0, with_reply = 0;
  for (const v1::AgentMessage& message : stream_.sent) {
    beats += message.has_heartbeat();
    probes += message.has_clock_probe();
    with_reply += message.clock_probe().reply_number() == 1;
  }
  EXPECT_EQ(beats, 3U);
  EXPECT_EQ(probes, kBurstProbes + 3);
  EXPECT_GE(with_reply, kBurstProbes);
}

TEST_F(UplinkTest, PassesTheQuestionForTailsOnOnce) {
  uplink_.Tick(At(0));
  v1::CoordinatorMessage message;
  message.mutable_evidence_request()->set_tails(true);
  uplink_.OnMessage(At(0), message);
  EXPECT_TRUE(uplink_.TakeTailsWanted());
  EXPECT_FALSE(uplink_.TakeTailsWanted());
}

}  // namespace
}  // namespace firstfault::agent
