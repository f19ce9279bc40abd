#include "coordinator/ingest_service.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "coordinator/grpc_caller.h"
#include "coordinator/grpc_status.h"
#include "coordinator/ingest_session.h"
#include "proto/fail_point.h"

namespace firstfault {
namespace {

// One stream. Lives until gRPC is done with it and no batch of it is on its way to the disk.
class StreamReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  StreamReactor(IngestSession session, GroupCommit* commit, Agents* agents, Refusals* refusals, const std::function<int64_t()>& now_ns,
                std::string peer)
      : session_(std::move(session)), commit_(commit), agents_(agents), refusals_(refusals), now_ns_(now_ns), peer_(std::move(peer)) {}

  void Start(std::shared_ptr<StreamReactor> self) {
    self_ = std::move(self);
    refusals_->counters()->Add(Counter::kStreams);
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok) {  // the agent has no more, and may wait for the last acknowledgement
      half_closed_ = true;
      return EndWhenDurable();
    }
    const int64_t now_ns = now_ns_();
    refusals_->counters()->Add(Counter::kMessages);
    v1::AgentMessage message;
    if (incoming_.Length() > kMessageBytesMax || !grpc::SerializationTraits<v1::AgentMessage>::Deserialize(&incoming_, &message).ok()) {
      refusals_->Note(Counter::kRefusedMessage, peer_, "not a message, or too large a one");
      return End({grpc::StatusCode::INVALID_ARGUMENT, "not a message, or too large a one"});
    }
    const std::optional<v1::Heartbeat> heartbeat = message.has_heartbeat() ? std::optional(message.heartbeat()) : std::nullopt;
    IngestSession::Step step = session_.Handle(std::move(message), now_ns);
    if (step.refused) refusals_->Note(*step.refused, peer_, step.end ? std::string(step.end->message()) : step.ack->ack().refusal());
    if (step.end) return End(ToGrpc(*step.end));
    Note(step, heartbeat, now_ns);
    if (step.reply) Send(*std::move(step.reply));
    if (step.ack) {
      std::optional<v1::LoggedBatch> logged;
      if (step.batch) logged = session_.Logged(*std::move(step.batch), now_ns);
      const size_t bytes = logged ? logged->ByteSizeLong() : 0;
      queued_bytes_ += bytes;
      ++pending_;
      commit_->Submit(std::move(logged), [self = self_, ack = *std::move(step.ack), bytes](const absl::Status& status) {
        self->Committed(ack, bytes, status);
      });
    }
    ReadOn();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (!ok) outgoing_.clear();
    WriteOn();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    End(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    agents_->Gone(this);
    self_.reset();
  }

 private:
  void Committed(const v1::CoordinatorMessage& ack, size_t bytes, const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    queued_bytes_ -= bytes;
    --pending_;
    if (!status.ok()) return End(ToGrpc(status));
    refusals_->counters()->Add(Counter::kBatches);
    FailPoint("ack.send");
    Send(ack);
    if (half_closed_) return EndWhenDurable();
    if (!reading_) ReadOn();
  }

  void Ask(v1::CoordinatorMessage message) {
    const std::lock_guard lock(mutex_);
    Send(std::move(message));
  }

  // The rest holds the mutex.

  // What a message that was let in says of its agent.
  void Note(const IngestSession::Step& step, const std::optional<v1::Heartbeat>& heartbeat, int64_t now_ns) {
    if (step.reply && step.reply->has_welcome()) {
      agents_->Greeted(this, session_.hello(), now_ns, [stream = std::weak_ptr<StreamReactor>(self_)](v1::CoordinatorMessage message) {
        if (const auto alive = stream.lock()) alive->Ask(std::move(message));
      });
    }
    agents_->Heard(this, now_ns);
    if (heartbeat) agents_->Beat(this, *heartbeat);
    if (step.batch) agents_->Sent(this, {step.batch->job(), step.batch->attempt()});
  }

  void ReadOn() {
    reading_ = !ending_ && queued_bytes_ < kStreamQueueBytesMax;
    if (reading_) StartRead(&incoming_);
  }

  void Send(v1::CoordinatorMessage message) {
    if (ending_) return;
    // Acknowledgements are cumulative: one that waits is replaced.
    const bool replaces = message.has_ack() && outgoing_.size() > 1 && outgoing_.back().has_ack();
    if (replaces) {
      outgoing_.back() = std::move(message);
    } else {
      outgoing_.push_back(std::move(message));
    }
    WriteOn();
  }

  void WriteOn() {
    if (writing_ || finished_) return;
    if (outgoing_.empty()) {
      if (!ending_) return;
      finished_ = true;
      return Finish(*ending_);
    }
    v1::CoordinatorMessage& next = outgoing_.front();
    if (next.has_clock_reply()) next.mutable_clock_reply()->set_sent_ns(now_ns_());
    bool own_buffer = false;
    outgoing_bytes_.Clear();
    if (const auto status = grpc::SerializationTraits<v1::CoordinatorMessage>::Serialize(next, &outgoing_bytes_, &own_buffer); !status.ok()) {
      return End(status);
    }
    writing_ = true;
    StartWrite(&outgoing_bytes_);
  }

  void EndWhenDurable() {
    if (pending_ == 0) End(grpc::Status::OK);
  }

  void End(const grpc::Status& status) {
    if (ending_) return;
    ending_ = status;
    WriteOn();
  }

  std::mutex mutex_;
  std::shared_ptr<StreamReactor> self_;
  IngestSession session_;
  GroupCommit* const commit_;
  Agents* const agents_;
  Refusals* const refusals_;
  const std::function<int64_t()>& now_ns_;
  const std::string peer_;
  grpc::ByteBuffer incoming_, outgoing_bytes_;
  std::deque<v1::CoordinatorMessage> outgoing_;  // the first is being written
  size_t queued_bytes_ = 0, pending_ = 0;
  bool reading_ = true, half_closed_ = false, writing_ = false, finished_ = false;
  std::optional<grpc::Status> ending_;
};

// A stream that is not let in.
class TurnedAway final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit TurnedAway(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* IngestService::Stream(grpc::CallbackServerContext* context) {
  const Caller caller = CallerOf(*context);
  auto grant = access_->Admit(caller);
  if (!grant.ok()) {
    refusals_->Note(Counter::kRefusedToken, caller.address, std::string(grant.status().message()));
    return new TurnedAway(grant.status());
  }
  auto reactor = std::make_shared<StreamReactor>(IngestSession(recordings_, coordinator_id_, *std::move(grant)), commit_, agents_,
                                                 refusals_, now_ns_, caller.address);
  StreamReactor* const out = reactor.get();
  out->Start(std::move(reactor));
  return out;
}

}  // namespace firstfault
