#include "coordinator/group_commit.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace firstfault {

GroupCommit::GroupCommit(Recordings* recordings)
    : recordings_(recordings), thread_([this] { Loop(); }) {}

GroupCommit::~GroupCommit() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void GroupCommit::Submit(std::optional<v1::LoggedBatch> batch, Done done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(batch), std::move(done)});
  }
  wake_.notify_one();
}

void GroupCommit::Loop() {
  for (;;) {
    std::vector<Item> group;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kGroupBatchesMax));
      std::move(queue_.begin(), end, std::back_inserter(group));
      queue_.erase(queue_.begin(), end);
    }
    std::vector<v1::LoggedBatch> batches;
    for (Item& item : group) {
      if (item.batch) batches.push_back(*std::move(item.batch));
    }
    const absl::Status status = recordings_->Append(std::move(batches));
    for (const Item& item : group) item.done(status);
  }
}

}  // namespace firstfault
