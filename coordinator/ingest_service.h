// ingest_service.h: agents' streams over gRPC.
//
// Why:     reactors only decode and enqueue; what is answered is decided in ingest_session.h.
// Limits:  kMessageBytesMax a message; kStreamQueueBytesMax of one agent that are not durable yet: no more is read
//          of its stream until they are.
// Errors:  a batch that cannot be made durable ends its stream with the disk's status; the agent comes back.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_INGEST_SERVICE_H_
#define FIRSTFAULT_COORDINATOR_INGEST_SERVICE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "coordinator/access.h"
#include "coordinator/agents.h"
#include "coordinator/group_commit.h"
#include "coordinator/recording.h"
#include "coordinator/refusals.h"
#include "proto/ingest.grpc.pb.h"

namespace firstfault {

// Batches are 128 KiB and a few records more; a record holds at most a line of 2 MiB.
inline constexpr int kMessageBytesMax = 4 << 20;
inline constexpr size_t kStreamQueueBytesMax = 1 << 20;

// Messages come as bytes: gRPC would end a stream of what is no message without a word to anybody.
class IngestService final : public v1::Ingest::WithRawCallbackMethod_Stream<v1::Ingest::Service> {
 public:
  // All must outlive the service. `now_ns`: the wall clock.
  IngestService(const Recordings* recordings, GroupCommit* commit, Agents* agents, const Access* access, Refusals* refusals,
                std::function<int64_t()> now_ns, std::string coordinator_id)
      : recordings_(recordings), commit_(commit), agents_(agents), access_(access), refusals_(refusals), now_ns_(std::move(now_ns)),
        coordinator_id_(std::move(coordinator_id)) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* context) override;

 private:
  const Recordings* const recordings_;
  GroupCommit* const commit_;
  Agents* const agents_;
  const Access* const access_;
  Refusals* const refusals_;
  const std::function<int64_t()> now_ns_;
  const std::string coordinator_id_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_INGEST_SERVICE_H_
