#include "coordinator/record_decoder.h"

#include <utility>

#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kNone = std::string_view::npos;

}  // namespace

void RecordDecoder::Take(std::string_view record, std::string* out) {
  if (Decode(record, out)) return;
  ++passed_on_;
  out->append(record);
  if (!record.ends_with('\n')) out->push_back('\n');
}

void RecordDecoder::Feed(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    if (oversized_) {
      const size_t line_end = bytes.find('\n');
      oversized_ = line_end == kNone;
      const size_t size = oversized_ ? bytes.size() : line_end + 1;
      out->append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      continue;
    }
    if (unfinished_.empty()) {  // the common case: whole records in the caller's buffer, no copy
      resume_ = 0;
      const size_t size = RecordSize(bytes, &resume_);
      if (size != kNone && size <= kRecordBytesMax) {
        Take(bytes.substr(0, size), out);
        bytes.remove_prefix(size);
        continue;
      }
    }
    // Adds no more than the limit allows, so that the outcome does not depend on how the bytes were cut.
    const size_t held = unfinished_.size();
    const size_t room = kRecordBytesMax - held;
    unfinished_.append(bytes.substr(0, room));
    if (held == 0) resume_ = 0;
    const size_t size = RecordSize(unfinished_, &resume_);
    if (size != kNone) {
      const std::string record = std::move(unfinished_);
      unfinished_.clear();
      Take(std::string_view(record).substr(0, size), out);
      if (size >= held) {
        bytes.remove_prefix(size - held);
      } else {  // its end was seen only by what follows it: the rest of what was held begins the next record
        Feed(std::string_view(record).substr(size, held - size), out);
      }
    } else {
      bytes.remove_prefix(unfinished_.size() - held);
      if (unfinished_.size() < kRecordBytesMax) return;
      ++passed_on_;
      oversized_ = true;
      out->append(unfinished_);
      unfinished_.clear();
    }
  }
}

void RecordDecoder::Flush(std::string* out) {
  if (!unfinished_.empty()) {
    const std::string record = std::move(unfinished_);
    unfinished_.clear();
    Take(record, out);
  }
  if (oversized_) out->push_back('\n');
  oversized_ = false;
  resume_ = 0;
  FlushHeld(out);
}

size_t LineDecoder::RecordSize(std::string_view bytes, size_t* resume) {
  const size_t end = bytes.find('\n', *resume);
  *resume = bytes.size();
  return end == kNone ? kNone : end + 1;
}

void AppendLines(std::string_view prefix, std::string_view text, std::string* out) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : Split(text, '\n')) {
    out->append(prefix).append(line).push_back('\n');
  }
}

}  // namespace firstfault
