#include "coordinator/retention.h"

#include <algorithm>

namespace firstfault {

std::vector<JobKey> ToForget(std::vector<RecordingSummary> summaries, const RetentionPolicy& policy, int64_t now_ns) {
  std::stable_sort(summaries.begin(), summaries.end(), [](const auto& a, const auto& b) { return a.last_ns < b.last_ns; });
  uint64_t bytes = 0;
  for (const RecordingSummary& summary : summaries) bytes += summary.file_bytes;
  std::vector<JobKey> out;
  for (const RecordingSummary& summary : summaries) {
    const int64_t quiet_ns = now_ns - summary.last_ns;
    const bool too_old = policy.age_ns > 0 && quiet_ns > policy.age_ns;
    const bool too_much = policy.bytes > 0 && bytes > policy.bytes && quiet_ns > kMayGoOnNs;
    if (!too_old && !too_much) continue;
    out.push_back(summary.key);
    bytes -= summary.file_bytes;
  }
  return out;
}

}  // namespace firstfault
