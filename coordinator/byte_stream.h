// byte_stream.h: the bytes of one source, pulled block by block.
//
// Why:     plain files, pipes and archive members are read by the same code, and files are read in chunks
//          with pread, never mapped: a file may shrink while it is read.
// Model:   Next() gives blocks in order until it returns false. A block says how many bytes of hole come
// before it. Errors:  a stream that broke off ends like any other and then has a failure(). Threads: one
// thread. Block bytes live until the next call.
#ifndef FIRSTFAULT_COORDINATOR_BYTE_STREAM_H_
#define FIRSTFAULT_COORDINATOR_BYTE_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/read_problems.h"

namespace firstfault {

// One pread: large enough that the system call costs nothing beside the scan, small enough for the cache.
inline constexpr size_t kReadChunkBytes = 256 << 10;

class ByteStream {
 public:
  struct Block {
    uint64_t hole = 0;       // bytes that were never written, before `bytes`
    std::string_view bytes;  // empty only where a hole ends the source
  };
  virtual ~ByteStream() = default;
  // False: the end. `block` is then unchanged.
  virtual bool Next(Block* block) = 0;
  const std::optional<ReadFailure>& failure() const { return failure_; }

 protected:
  std::optional<ReadFailure> failure_;
};

// A regular file up to the size that it has now: a log that grows faster than it is read has an end too.
// `buffer` is shared between streams that are not read at the same time. Does not close `fd`.
class FileStream : public ByteStream {
 public:
  FileStream(int fd, uint64_t size, bool may_have_holes, std::string* buffer);
  bool Next(Block* block) override;

 private:
  uint64_t SkipHole();
  ReadFailure Shrank(uint64_t now) const;

  int fd_;
  uint64_t size_;
  uint64_t position_ = 0;
  uint64_t data_end_;  // of the extent that `position_` is in
  std::string* buffer_;
};

// A pipe, standard input, or a file without a size (/proc): read until it ends.
class PipeStream : public ByteStream {
 public:
  PipeStream(int fd, std::string* buffer);
  bool Next(Block* block) override;

 private:
  int fd_;
  std::string* buffer_;
};

// A stream whose first bytes are known before it is read. One that broke off before them has its failure() at once.
class PeekedStream : public ByteStream {
 public:
  // Reads up to `head_bytes` of data from `inner` into `head`, which becomes the first block.
  PeekedStream(ByteStream* inner, size_t head_bytes, std::string* head);
  std::string_view head() const { return *head_; }
  bool Next(Block* block) override;

 private:
  ByteStream* inner_;
  std::string* head_;
  uint64_t head_hole_ = 0;
  Block after_head_;  // what was read beyond the head
  bool head_given_ = false;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_BYTE_STREAM_H_
