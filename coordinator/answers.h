// answers.h: jobs and verdicts from recordings.
//
// Why:     the same question is asked again and again while a job runs; a replay is done once a change.
// Model:   when an answer is final, and when it is as final as was asked for, is a table of states and times.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_ANSWERS_H_
#define FIRSTFAULT_COORDINATOR_ANSWERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/agents.h"
#include "coordinator/recording.h"
#include "coordinator/replay.h"
#include "proto/query.pb.h"

namespace firstfault {

// What nobody has added to for so long after the launcher's end is complete (design: quiet for 2 s).
inline constexpr int64_t kQuietNs = 2'000'000'000;
// Longer than a checkpoint or an evaluation commonly takes.
inline constexpr int64_t kStallAfterNs = 300'000'000'000;
inline constexpr int64_t kWaitDefaultNs = 60'000'000'000;
inline constexpr uint32_t kJobsMax = 1000, kJobsDefault = 100;

class Answers {
 public:
  // All must outlive this. A job that runs and says nothing for so long is stalled.
  Answers(const Engine* engine, const Recordings* recordings, const Agents* agents, int64_t stall_after_ns = kStallAfterNs)
      : engine_(engine), recordings_(recordings), agents_(agents), stall_after_ns_(stall_after_ns) {}

  int64_t stall_after_ns() const { return stall_after_ns_; }
  // The recording is gone.
  void Forget(const JobKey& key);
  v1::JobsReply Jobs(const v1::JobsRequest& request, int64_t now_ns);

  // The report as of now, with where the job stands.
  absl::StatusOr<v1::Report> ReportOf(const RecordingSummary& summary, int64_t now_ns);

  // nullopt: not yet, `waited_ns` is less than the request allows. NotFound: no such job. InvalidArgument: no
  // such wait.
  std::optional<absl::StatusOr<v1::WhyReply>> Why(const v1::WhyRequest& request, int64_t now_ns, int64_t waited_ns);

 private:
  struct Answer {
    uint64_t batches = 0;  // that it rests on
    std::shared_ptr<const Replay> replay;
  };

  absl::StatusOr<std::shared_ptr<const Replay>> AnswerOf(const RecordingSummary& summary);
  absl::StatusOr<RecordingSummary> Find(const v1::WhyRequest& request);

  const Engine* const engine_;
  const Recordings* const recordings_;
  const Agents* const agents_;
  const int64_t stall_after_ns_;
  std::mutex mutex_;
  std::map<JobKey, Answer> answers_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_ANSWERS_H_
