// refusals.h: what is turned away is counted, and told to whoever reads the coordinator's output.
//
// Limits:  one line a reason and second: a caller that tries on and on does not fill a disk.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_REFUSALS_H_
#define FIRSTFAULT_COORDINATOR_REFUSALS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "coordinator/counters.h"

namespace firstfault {

inline constexpr int64_t kSayRefusalEveryNs = 1'000'000'000;

class Refusals {
 public:
  // `counters` must outlive this. `say`: one line.
  Refusals(Counters* counters, std::function<int64_t()> now_ns, std::function<void(const std::string&)> say)
      : counters_(counters), now_ns_(std::move(now_ns)), say_(std::move(say)) {}

  // `peer` and `what` may come from anybody.
  void Note(Counter reason, std::string_view peer, std::string_view what);
  Counters* counters() const { return counters_; }

 private:
  Counters* const counters_;
  const std::function<int64_t()> now_ns_;
  const std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::array<int64_t, kCountRows.size()> next_ns_{};
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_REFUSALS_H_
