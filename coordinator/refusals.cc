#include "coordinator/refusals.h"

#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kShownColumns = 400;

}  // namespace

void Refusals::Note(Counter reason, std::string_view peer, std::string_view what) {
  counters_->Add(reason);
  {
    const std::lock_guard lock(mutex_);
    int64_t& next_ns = next_ns_[static_cast<size_t>(reason)];
    const int64_t now_ns = now_ns_();
    if (now_ns < next_ns) return;
    next_ns = now_ns + kSayRefusalEveryNs;
  }
  const CountRow& row = kCountRows[static_cast<size_t>(reason)];
  say_(CutMiddle(Printable(Cat("refused (", row.reason, "), ", counters_->Of(reason), " so far: ", peer, peer.empty() ? "" : ": ", what)),
                 kShownColumns));
}

}  // namespace firstfault
