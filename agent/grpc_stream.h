// grpc_stream.h: an Ingest stream over gRPC's callback API.
//
// Model:   the reactor only moves messages between queues; whoever owns the stream takes them from the inbox on
//          its own thread, woken by a file descriptor.
// Limits:  messages of at most kMessageBytesMax; the sender bounds what it queues (queued_bytes).
// Threads: one owner; gRPC's threads enter through the mailbox's and the call's std::mutex.
#ifndef FIRSTFAULT_AGENT_GRPC_STREAM_H_
#define FIRSTFAULT_AGENT_GRPC_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/uplink.h"
#include "proto/credentials.h"

namespace firstfault::agent {

inline constexpr int kMessageBytesMax = 4 << 20;
// The process waits so long, once, at its end, for gRPC to be done with the stream.
inline constexpr int kEndSeconds = 2;

class GrpcStream : public Stream {
 public:
  // `wake` is called from gRPC's threads when something has come in.
  GrpcStream(std::string target, Credentials credentials, std::function<void()> wake);
  ~GrpcStream() override;

  void Connect() override;
  void Send(const v1::AgentMessage& message) override;
  size_t queued_bytes() const override;
  void Close() override;

  // Hands out what has come in on the present stream; an end comes last, once. `refused`: the coordinator does not let
  // us write, and will not until somebody changes something.
  void Receive(const std::function<void(const v1::CoordinatorMessage&)>& on_message,
               const std::function<void(const std::string& why, bool refused)>& on_end);

 private:
  struct Mailbox;
  class Call;

  const std::string target_;
  const Credentials credentials_;
  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<Call> call_;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_AGENT_GRPC_STREAM_H_
