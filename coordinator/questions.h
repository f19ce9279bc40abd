// questions.h: who asks what, and when it is answered: the part of the query service that gRPC and HTTP share.
//
// Why:     an answer may have to wait for the job, and a replay takes time: neither may hold a thread of gRPC.
// Model:   questions wait in a list; one thread looks at new ones at once and at all every kLookAgainNs: what was
//          recorded meanwhile, and quiet, may be what they wait for.
// Limits:  kQuestionsMax at a time; more are refused with ResourceExhausted.
// Errors:  those of Access and Answers.
// Threads: thread-safe. `done` is called once, on the list's thread, or on the caller's before the call returns.
#ifndef FIRSTFAULT_COORDINATOR_QUESTIONS_H_
#define FIRSTFAULT_COORDINATOR_QUESTIONS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "coordinator/access.h"
#include "coordinator/answers.h"
#include "coordinator/refusals.h"
#include "proto/query.pb.h"

namespace firstfault {

inline constexpr size_t kQuestionsMax = 1000;
// A tenth of a second beside the 1 s in which a verdict is due.
inline constexpr int64_t kLookAgainNs = 100'000'000;

class Questions {
 public:
  template <typename Reply>
  using Done = std::function<void(absl::StatusOr<Reply>)>;

  // All must outlive this. `now_ns`: the wall clock.
  Questions(Answers* answers, const Access* access, Refusals* refusals, std::function<int64_t()> now_ns);
  // Answers what waits as it is.
  ~Questions();

  void Jobs(const Caller& caller, const v1::JobsRequest& request, Done<v1::JobsReply> done);
  // `gone`: whether nobody waits any more.
  void Why(const Caller& caller, const v1::WhyRequest& request, std::function<bool()> gone, Done<v1::WhyReply> done);
  absl::StatusOr<v1::StatusReply> Status(const Caller& caller);
  // Whether it may ask about all jobs.
  absl::Status MayAskAll(const Caller& caller);

  // Ends the waiting: the program stops.
  void Stop();

 private:
  // True: answered.
  using Question = std::function<bool(bool stopping)>;
  // `job`: what it is about; empty: all jobs; nullptr: none.
  absl::Status LetIn(const Caller& caller, const std::string* job);
  absl::Status Ask(Question question);
  void Loop();

  Answers* const answers_;
  const Access* const access_;
  Refusals* const refusals_;
  const std::function<int64_t()> now_ns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Question> questions_;
  size_t count_ = 0;
  bool asked_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_QUESTIONS_H_
