// ingest_session.h: what a coordinator answers to one agent's stream.
//
// Why:     the protocol of proto/ingest.proto without sockets, threads and clocks.
// Errors:  a Step with `end`: the stream ends with this status, and the agent keeps what it has and comes back: what
//          it may not write today it may tomorrow. A batch that nobody could record is acknowledged as refused.
// Threads: one at a time.
#ifndef FIRSTFAULT_COORDINATOR_INGEST_SESSION_H_
#define FIRSTFAULT_COORDINATOR_INGEST_SESSION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "coordinator/access.h"
#include "coordinator/counters.h"
#include "coordinator/recording.h"
#include "proto/ingest.pb.h"

namespace firstfault {

class IngestSession {
 public:
  // What a message asks for.
  struct Step {
    std::optional<v1::CoordinatorMessage> reply;  // at once
    std::optional<v1::Batch> batch;               // to be recorded
    std::optional<v1::CoordinatorMessage> ack;    // when it, or what was sent before it, is durable
    std::optional<absl::Status> end;
    std::optional<Counter> refused;  // with an ack, or an end
  };

  // `recordings` must outlive the session. `grant`: of whoever opened the stream.
  IngestSession(const Recordings* recordings, std::string coordinator_id, Grant grant)
      : recordings_(recordings), coordinator_id_(std::move(coordinator_id)), grant_(std::move(grant)) {}

  // Once it was welcomed.
  const v1::Hello& hello() const { return *hello_; }
  // `now_ns`: the wall clock, when the message came.
  Step Handle(v1::AgentMessage message, int64_t now_ns);
  // The form in which a batch of this agent is recorded.
  v1::LoggedBatch Logged(v1::Batch batch, int64_t now_ns) const;

 private:
  Step Greet(v1::Hello hello);
  Step Take(v1::Batch batch);

  const Recordings* const recordings_;
  const std::string coordinator_id_;
  const Grant grant_;
  std::optional<v1::Hello> hello_;
  uint64_t refused_ = 0;
  std::string refusal_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_INGEST_SESSION_H_
