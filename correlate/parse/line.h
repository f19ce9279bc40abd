// line.h: one physical line made fit for matching, and forward reading from it.
//
// Why:     colours, progress bars redrawn with carriage returns, NULs of network storage and glued writers
//          are normal in logs; everything after this file sees clean text.
// Shapes:  views stay valid as long as the bytes they were made from and the SourceLine itself.
// Threads: plain values.
#ifndef FIRSTFAULT_CORRELATE_PARSE_LINE_H_
#define FIRSTFAULT_CORRELATE_PARSE_LINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "correlate/parse/prefix.h"

namespace firstfault {

// Whether CleanLine would change the line (beyond a trailing carriage return).
bool NeedsCleaning(std::string_view raw);
// Terminal escapes and NULs removed; of text redrawn with carriage returns, the last drawing.
std::string CleanLine(std::string_view raw);

// One line, cleaned and peeled. Not copyable: `text` may point into `storage`.
struct SourceLine {
  SourceLine(uint64_t offset_in, std::string_view raw_in, const PrefixHabits& habits);
  SourceLine(const SourceLine&) = delete;
  SourceLine& operator=(const SourceLine&) = delete;

  uint64_t offset = 0;    // of the first byte, in the source
  std::string_view raw;   // without the newline
  std::string storage;
  std::string_view text;  // clean
  Peeled peeled;          // of `text`

  std::string_view message() const { return peeled.message; }
};

// Who wrote a line, as far as its prefix says. Lines of one writer belong together.
struct WriterKey {
  std::optional<int32_t> rank, local_rank, task, pid;
  bool operator==(const WriterKey&) const = default;
  auto operator<=>(const WriterKey&) const = default;
  bool empty() const { return !rank && !local_rank && !task && !pid; }
};
WriterKey WriterOf(const Prefix& prefix);

// Reads forward from a line, each further line on demand. `At(0)` is the line itself; nullptr is the end
// of what may be read.
class LineReader {
 public:
  using Next = std::function<std::shared_ptr<const SourceLine>()>;
  explicit LineReader(Next next) : next_(std::move(next)) {}
  const SourceLine* At(size_t index) {
    while (lines_.size() <= index) {
      auto line = next_();
      if (line == nullptr) return nullptr;
      lines_.push_back(std::move(line));
    }
    return lines_[index].get();
  }

 private:
  Next next_;
  std::deque<std::shared_ptr<const SourceLine>> lines_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PARSE_LINE_H_
