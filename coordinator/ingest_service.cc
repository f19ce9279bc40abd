#include "coordinator/ingest_service.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "coordinator/grpc_status.h"
#include "coordinator/ingest_session.h"
#include "proto/fail_point.h"

namespace firstfault {
namespace {

// One stream. Lives until gRPC is done with it and no batch of it is on its way to the disk.
class StreamReactor final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage> {
 public:
  StreamReactor(IngestSession session, GroupCommit* commit, Agents* agents, const std::function<int64_t()>& now_ns)
      : session_(std::move(session)), commit_(commit), agents_(agents), now_ns_(now_ns) {}

  void Start(std::shared_ptr<StreamReactor> self) {
    self_ = std::move(self);
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok) {  // the agent has no more, and may wait for the last acknowledgement
      half_closed_ = true;
      return EndWhenDurable();
    }
    const int64_t now_ns = now_ns_();
    Note(now_ns);
    IngestSession::Step step = session_.Handle(std::move(incoming_), now_ns);
    incoming_.Clear();
    if (step.end) return End(ToGrpc(*step.end));
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

  // What the message says of its agent.
  void Note(int64_t now_ns) {
    if (incoming_.has_hello() && !std::exchange(greeted_, true)) {
      agents_->Greeted(this, incoming_.hello(), now_ns, [stream = std::weak_ptr<StreamReactor>(self_)](v1::CoordinatorMessage message) {
        if (const auto alive = stream.lock()) alive->Ask(std::move(message));
      });
    }
    agents_->Heard(this, now_ns);
    if (incoming_.has_heartbeat()) agents_->Beat(this, incoming_.heartbeat());
    if (incoming_.has_batch() && !RefusalOf(incoming_.batch())) agents_->Sent(this, {incoming_.batch().job(), incoming_.batch().attempt()});
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
    writing_ = true;
    StartWrite(&next);
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
  const std::function<int64_t()>& now_ns_;
  v1::AgentMessage incoming_;
  std::deque<v1::CoordinatorMessage> outgoing_;  // the first is being written
  size_t queued_bytes_ = 0, pending_ = 0;
  bool greeted_ = false, reading_ = true, half_closed_ = false, writing_ = false, finished_ = false;
  std::optional<grpc::Status> ending_;
};

}  // namespace

grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* IngestService::Stream(grpc::CallbackServerContext*) {
  auto reactor = std::make_shared<StreamReactor>(IngestSession(recordings_, coordinator_id_), commit_, agents_, now_ns_);
  StreamReactor* const out = reactor.get();
  out->Start(std::move(reactor));
  return out;
}

}  // namespace firstfault
