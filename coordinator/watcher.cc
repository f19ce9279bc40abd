#include "coordinator/watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "coordinator/render.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {

Watcher::~Watcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watcher::Start() {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::nanoseconds(kLookEveryNs), [this] { return stopping_; })) {
      lock.unlock();
      Look();
      lock.lock();
    }
  });
}

void Watcher::Look() {
  for (const RecordingSummary& summary : recordings_->Summaries()) {
    if (summary.last_ns < since_ns_) break;  // they come newest first
    LookAt(summary, &seen_[summary.key]);
  }
}

void Watcher::LookAt(const RecordingSummary& summary, Seen* seen) {
  const int64_t begin_ns = now_ns_();
  const bool settled = seen->told.empty() || seen->told == "failed final" || seen->told == "ended final";
  const bool quiet = begin_ns - summary.last_ns >= answers_->stall_after_ns() && seen->told.empty();
  if (begin_ns < seen->next_look_ns || (settled && !quiet && summary.evidence == seen->evidence)) return;
  seen->evidence = summary.evidence;
  const auto report = answers_->ReportOf(summary, begin_ns);
  const int64_t end_ns = now_ns_();
  seen->next_look_ns = end_ns + std::max(kLookAgainAfterNs, 10 * (end_ns - begin_ns));
  if (!report.ok()) return;
  const std::string& state = report->state().state();
  std::string turn = state == "running" ? "" : Cat(state, " ", report->state().finality());
  if (turn == seen->told) return;
  const bool first = seen->told.empty();
  seen->told = std::move(turn);
  if (seen->told.empty()) return say_(Cat("job ", Printable(summary.key.job), ": runs again"));
  if (first && (state == "failed" || state == "stalled")) agents_->AskForTails(summary.key);
  say_(Cat("job ", Printable(summary.key.job), ": ", seen->told, ": ", RenderOneLine(*report)));
}

}  // namespace firstfault
