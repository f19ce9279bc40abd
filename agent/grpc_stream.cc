#include "agent/grpc_stream.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "proto/ingest.grpc.pb.h"

namespace firstfault::agent {
namespace {

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target, const Credentials& credentials) {
  grpc::ChannelArguments arguments;
  // A channel of its own for each stream: the pauses between tries are the uplink's alone.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // With the probe, flow-control windows cost megabytes a stream.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  return grpc::CreateCustomChannel(target, ChannelCredentialsOf(credentials), arguments);
}

}  // namespace

struct GrpcStream::Mailbox {
  std::mutex mutex;
  std::condition_variable done;
  std::deque<std::pair<const Call*, v1::CoordinatorMessage>> in;
  std::deque<std::pair<std::shared_ptr<Call>, grpc::Status>> ended;
  int calls = 0;  // not done
  std::function<void()> wake;
};

// Lives until gRPC is done with it. A hold lets Send() start writes from outside; whichever of reading and
// writing finds the stream broken, and no write under way, gives it up.
class GrpcStream::Call : public grpc::ClientBidiReactor<v1::AgentMessage, v1::CoordinatorMessage> {
 public:
  static std::shared_ptr<Call> Start(const std::string& target, const Credentials& credentials, std::shared_ptr<Mailbox> mailbox) {
    auto call = std::make_shared<Call>(target, credentials, std::move(mailbox));
    call->self_ = call;
    call->stub_->async()->Stream(&call->context_, call.get());
    call->AddHold();
    call->StartRead(&call->in_);
    call->StartCall();
    return call;
  }

  Call(const std::string& target, const Credentials& credentials, std::shared_ptr<Mailbox> mailbox)
      : mailbox_(std::move(mailbox)), stub_(v1::Ingest::NewStub(ChannelTo(target, credentials))) {
    ShowToken(credentials, &context_);
    const std::lock_guard lock(mailbox_->mutex);
    ++mailbox_->calls;
  }

  void Send(const v1::AgentMessage& message) {
    {
      const std::lock_guard lock(mutex_);
      if (broken_) return;
      out_.push_back(message);
      queued_bytes_ += message.ByteSizeLong();
      if (std::exchange(writing_, true)) return;
    }
    StartWrite(&out_.front());
  }

  size_t queued_bytes() const {
    const std::lock_guard lock(mutex_);
    return queued_bytes_;
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Break();
      return;
    }
    {
      const std::lock_guard lock(mailbox_->mutex);
      mailbox_->in.emplace_back(this, std::move(in_));
    }
    in_.Clear();
    mailbox_->wake();
    StartRead(&in_);
  }

  void OnWriteDone(bool ok) override {
    const v1::AgentMessage* next = nullptr;
    {
      const std::lock_guard lock(mutex_);
      queued_bytes_ -= out_.front().ByteSizeLong();
      out_.pop_front();
      writing_ = ok && !broken_ && !out_.empty();
      if (writing_) next = &out_.front();
    }
    if (next != nullptr) {
      StartWrite(next);
    } else if (!ok) {
      Break();
    } else {
      GiveUpIfBroken();
    }
  }

  void OnDone(const grpc::Status& status) override {
    // The owner destroys the call: its channel must not end on a thread of its own.
    const auto mailbox = mailbox_;
    {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->ended.emplace_back(std::move(self_), status);
      --mailbox->calls;
      mailbox->done.notify_all();
    }
    mailbox->wake();
  }

 private:
  void Break() {
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
    }
    context_.TryCancel();
    GiveUpIfBroken();
  }

  void GiveUpIfBroken() {
    {
      const std::lock_guard lock(mutex_);
      if (!broken_ || writing_ || std::exchange(given_up_, true)) return;
    }
    RemoveHold();
  }

  const std::shared_ptr<Mailbox> mailbox_;
  const std::unique_ptr<v1::Ingest::Stub> stub_;
  grpc::ClientContext context_;
  v1::CoordinatorMessage in_;  // of the reader
  std::shared_ptr<Call> self_;

  mutable std::mutex mutex_;
  std::deque<v1::AgentMessage> out_;  // the first is being written
  size_t queued_bytes_ = 0;
  bool writing_ = false, broken_ = false, given_up_ = false;
};

GrpcStream::GrpcStream(std::string target, Credentials credentials, std::function<void()> wake)
    : target_(std::move(target)), credentials_(std::move(credentials)), mailbox_(std::make_shared<Mailbox>()) {
  mailbox_->wake = std::move(wake);
}

GrpcStream::~GrpcStream() {
  Close();
  std::unique_lock lock(mailbox_->mutex);
  mailbox_->done.wait_for(lock, std::chrono::seconds(kEndSeconds), [&] { return mailbox_->calls == 0; });
  const auto ended = std::exchange(mailbox_->ended, {});
  lock.unlock();
}

void GrpcStream::Connect() {
  Close();
  call_ = Call::Start(target_, credentials_, mailbox_);
}

void GrpcStream::Send(const v1::AgentMessage& message) {
  if (call_ != nullptr) call_->Send(message);
}

size_t GrpcStream::queued_bytes() const { return call_ == nullptr ? 0 : call_->queued_bytes(); }

void GrpcStream::Close() {
  if (call_ != nullptr) call_->Cancel();
  call_ = nullptr;
}

void GrpcStream::Receive(const std::function<void(const v1::CoordinatorMessage&)>& on_message,
                         const std::function<void(const std::string& why, bool refused)>& on_end) {
  decltype(Mailbox::in) in;
  decltype(Mailbox::ended) ended;
  {
    const std::lock_guard lock(mailbox_->mutex);
    in.swap(mailbox_->in);
    ended.swap(mailbox_->ended);
  }
  for (const auto& [call, message] : in) {
    if (call == call_.get()) on_message(message);
  }
  for (const auto& [call, status] : ended) {
    if (call != call_) continue;
    call_ = nullptr;
    const grpc::StatusCode code = status.error_code();
    on_end(ExplainedError(status, credentials_), code == grpc::StatusCode::PERMISSION_DENIED || code == grpc::StatusCode::UNAUTHENTICATED);
  }
}

}  // namespace firstfault::agent
