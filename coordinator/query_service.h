// query_service.h: questions over gRPC.
//
// Why:     an answer may have to wait for the job, and a replay takes time: neither may hold a thread of gRPC.
// Model:   questions wait in a list; one thread looks at new ones at once and at all every kLookAgainNs: what was
//          recorded meanwhile, and quiet, may be what they wait for.
// Limits:  kQuestionsMax at a time; more are refused with ResourceExhausted.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_QUERY_SERVICE_H_
#define FIRSTFAULT_COORDINATOR_QUERY_SERVICE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "coordinator/answers.h"
#include "proto/query.grpc.pb.h"

namespace firstfault {

inline constexpr size_t kQuestionsMax = 1000;
// A tenth of a second beside the 1 s in which a verdict is due.
inline constexpr int64_t kLookAgainNs = 100'000'000;

class QueryService final : public v1::Query::CallbackService {
 public:
  // `answers` must outlive the service. `now_ns`: the wall clock.
  QueryService(Answers* answers, std::function<int64_t()> now_ns);
  // Answers what waits as it is.
  ~QueryService() override;

  grpc::ServerUnaryReactor* Jobs(grpc::CallbackServerContext* context, const v1::JobsRequest* request, v1::JobsReply* reply) override;
  grpc::ServerUnaryReactor* Why(grpc::CallbackServerContext* context, const v1::WhyRequest* request, v1::WhyReply* reply) override;

  // Ends the waiting: the program stops.
  void Stop();

 private:
  // True: answered.
  using Question = std::function<bool(bool stopping)>;
  void Ask(grpc::ServerUnaryReactor* reactor, Question question);
  void Loop();

  Answers* const answers_;
  const std::function<int64_t()> now_ns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Question> questions_;
  size_t count_ = 0;
  bool asked_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_QUERY_SERVICE_H_
