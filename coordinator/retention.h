// retention.h: which recordings are given up, so that a disk does not fill.
//
// Model:   by age first, then the longest quiet ones until the rest fits. A job that may still go on is never given up
//          for its size.
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_RETENTION_H_
#define FIRSTFAULT_COORDINATOR_RETENTION_H_

#include <cstdint>
#include <vector>

#include "coordinator/recording.h"

namespace firstfault {

// Longer than the restart of an agent, a requeue, or the quiet of a job that compiles.
inline constexpr int64_t kMayGoOnNs = 3'600'000'000'000;
// A month: a failure is asked about for as long as its tickets are open.
inline constexpr int64_t kKeepDaysDefault = 30;

struct RetentionPolicy {
  int64_t age_ns = 0;  // since its last arrival; 0: any age
  uint64_t bytes = 0;  // of all files together; 0: any size
};

// In the order in which to give them up.
std::vector<JobKey> ToForget(std::vector<RecordingSummary> summaries, const RetentionPolicy& policy, int64_t now_ns);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_RETENTION_H_
