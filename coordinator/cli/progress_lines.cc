#include "coordinator/cli/progress_lines.h"

#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr int64_t kFirstAfterNs = 1'000'000'000;
constexpr int64_t kTerminalEveryNs = 200'000'000, kPlainEveryNs = 5'000'000'000;
constexpr const char kClearLine[] = "\r\x1b[K";

}  // namespace

std::string ProgressLines::Update(int64_t now_ns, int64_t sources, uint64_t bytes) {
  const int64_t wait_ns = !shown_ ? kFirstAfterNs : terminal_ ? kTerminalEveryNs : kPlainEveryNs;
  if (now_ns - last_ns_ < wait_ns) return "";
  last_ns_ = now_ns;
  shown_ = true;
  const std::string line = Cat("reading: ", Counted(sources, "source"), ", ", bytes >> 20, " MiB");
  return terminal_ ? Cat(kClearLine, line) : Cat("firstfault: ", line, '\n');
}

std::string ProgressLines::Done() {
  if (!terminal_ || !shown_) return "";
  shown_ = false;
  return kClearLine;
}

}  // namespace firstfault
