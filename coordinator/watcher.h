// watcher.h: notices by itself that a job fails, stalls or ends.
//
// Why:     the last words of the other ranks are on their hosts until somebody asks; and a failure should be known
//          before anybody does.
// Model:   a job is looked at when something arrived that may tell of a failure, when it has been quiet for long, and,
//          once it failed, until its report is final. Each turn is told once.
// Limits:  the looking takes at most a tenth of one core a job, and comes at most once a second.
// Threads: Look() one at a time; Start() does it on a thread of its own.
#ifndef FIRSTFAULT_COORDINATOR_WATCHER_H_
#define FIRSTFAULT_COORDINATOR_WATCHER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "coordinator/agents.h"
#include "coordinator/answers.h"

namespace firstfault {

inline constexpr int64_t kLookEveryNs = 200'000'000, kLookAgainAfterNs = 1'000'000'000;

class Watcher {
 public:
  // All must outlive this. Jobs that were last heard of before `since_ns` are left alone. `say`: one line.
  Watcher(Answers* answers, const Recordings* recordings, const Agents* agents, std::function<int64_t()> now_ns, std::function<void(const std::string&)> say)
      : answers_(answers), recordings_(recordings), agents_(agents), now_ns_(std::move(now_ns)), say_(std::move(say)), since_ns_(now_ns_()) {}
  ~Watcher();

  void Look();
  void Start();

 private:
  struct Seen {
    uint64_t evidence = 0;
    int64_t next_look_ns = 0;
    std::string told;  // state and finality
  };
  void LookAt(const RecordingSummary& summary, Seen* seen);

  Answers* const answers_;
  const Recordings* const recordings_;
  const Agents* const agents_;
  const std::function<int64_t()> now_ns_;
  const std::function<void(const std::string&)> say_;
  const int64_t since_ns_;
  std::map<JobKey, Seen> seen_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_WATCHER_H_
