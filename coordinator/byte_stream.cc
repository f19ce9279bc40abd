#include "coordinator/byte_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "correlate/text.h"

namespace firstfault {
namespace {

template <typename Call>
ssize_t RetryInterrupted(const Call& call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

FileStream::FileStream(int fd, uint64_t size, bool may_have_holes, std::string* buffer)
    : fd_(fd), size_(size), data_end_(may_have_holes ? 0 : size), buffer_(buffer) {
  buffer_->resize(kReadChunkBytes);
}

ReadFailure FileStream::Shrank(uint64_t now) const {
  return {Trouble::kShrank, Cat("from ", size_, " to ", now, " bytes")};
}

// Moves to the next extent that holds data. File systems without extents report one that spans the file.
uint64_t FileStream::SkipHole() {
  if (position_ < data_end_) return 0;
  const auto start = static_cast<off_t>(position_);
  const off_t data = lseek(fd_, start, SEEK_DATA);
  if (data < 0 && errno == ENXIO) {  // nothing but a hole up to the end
    const off_t now = lseek(fd_, 0, SEEK_END);
    if (now < static_cast<off_t>(size_)) failure_ = Shrank(static_cast<uint64_t>(now));
    position_ = data_end_ = failure_ ? std::max<uint64_t>(position_, now) : size_;
    return position_ - static_cast<uint64_t>(start);
  }
  const off_t end = data < 0 ? -1 : lseek(fd_, data, SEEK_HOLE);
  data_end_ = end < 0 ? size_ : std::min(size_, static_cast<uint64_t>(end));
  if (data > start) position_ = std::min(size_, static_cast<uint64_t>(data));
  return position_ - static_cast<uint64_t>(start);
}

bool FileStream::Next(Block* block) {
  if (failure_ || position_ >= size_) return false;
  const uint64_t hole = SkipHole();
  if (failure_ || position_ >= size_) {
    *block = Block{hole, {}};
    return hole > 0;
  }
  const size_t want = std::min<uint64_t>(kReadChunkBytes, data_end_ - position_);
  const ssize_t got =
      RetryInterrupted([&] { return pread(fd_, buffer_->data(), want, static_cast<off_t>(position_)); });
  if (got < 0) {
    failure_ = ReadFailure{Trouble::kReadFailed, Cat(std::strerror(errno), " at byte ", position_)};
    return false;
  }
  if (got == 0) {
    failure_ = Shrank(position_);
    return false;
  }
  *block = Block{hole, std::string_view(buffer_->data(), static_cast<size_t>(got))};
  position_ += static_cast<uint64_t>(got);
  return true;
}

PipeStream::PipeStream(int fd, std::string* buffer) : fd_(fd), buffer_(buffer) {
  buffer_->resize(kReadChunkBytes);
}

bool PipeStream::Next(Block* block) {
  if (failure_) return false;
  const ssize_t got = RetryInterrupted([&] { return read(fd_, buffer_->data(), kReadChunkBytes); });
  if (got < 0) failure_ = ReadFailure{Trouble::kReadFailed, std::strerror(errno)};
  if (got <= 0) return false;
  *block = Block{0, std::string_view(buffer_->data(), static_cast<size_t>(got))};
  return true;
}

PeekedStream::PeekedStream(ByteStream* inner, size_t head_bytes, std::string* head)
    : inner_(inner), head_(head) {
  head_->clear();
  while (head_->size() < head_bytes && inner_->Next(&after_head_)) {
    if (head_->empty()) {
      head_hole_ += std::exchange(after_head_.hole, 0);
    } else if (after_head_.hole > 0) {
      break;  // the head ends at a hole; this block is given after it
    }
    const size_t take = std::min(head_bytes - head_->size(), after_head_.bytes.size());
    head_->append(after_head_.bytes.substr(0, take));
    after_head_.bytes.remove_prefix(take);
  }
  if (head_->empty()) failure_ = inner_->failure();
}

bool PeekedStream::Next(Block* block) {
  if (!std::exchange(head_given_, true) && (head_hole_ > 0 || !head_->empty())) {
    *block = Block{head_hole_, *head_};
    return true;
  }
  if (after_head_.hole > 0 || !after_head_.bytes.empty()) {
    *block = std::exchange(after_head_, Block());
    return true;
  }
  const bool more = inner_->Next(block);
  failure_ = inner_->failure();
  return more;
}

}  // namespace firstfault
