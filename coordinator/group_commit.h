// group_commit.h: batches of all agents, made durable together.
//
// Why:     a sync costs milliseconds whatever it covers; batches that arrive during one share the next.
// Model:   a queue and one thread that appends what has gathered.
// Order:   of one caller, as submitted.
// Limits:  kGroupBatchesMax a sync. The queue's bytes are bounded by its callers, see ingest_service.cc.
// Threads: thread-safe. `done` runs on the queue's thread.
#ifndef FIRSTFAULT_COORDINATOR_GROUP_COMMIT_H_
#define FIRSTFAULT_COORDINATOR_GROUP_COMMIT_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/recording.h"

namespace firstfault {

// Beyond this a sync is a small part of the cost, and the first of a group would wait for the last.
inline constexpr size_t kGroupBatchesMax = 256;

class GroupCommit {
 public:
  // Called once for each submission: after what was submitted before it and itself is durable, or not.
  using Done = std::function<void(const absl::Status&)>;

  // `recordings` must outlive this.
  explicit GroupCommit(Recordings* recordings);
  // Finishes what was submitted.
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // nullopt: a batch that was refused; only its turn matters.
  void Submit(std::optional<v1::LoggedBatch> batch, Done done);

 private:
  struct Item {
    std::optional<v1::LoggedBatch> batch;
    Done done;
  };
  void Loop();

  Recordings* const recordings_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Item> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_GROUP_COMMIT_H_
