// compressed_stream.h: what a gzip, zstd, xz, bzip2 or lz4 stream unpacks to, while it is read.
//
// Why:     a job that died mid-write leaves a stream without its end. All that was decoded before the damage is
//          read, up to the last byte, and checksums are verified; libarchive's own filters do neither.
// Model:   a format is a row of a table: how a member begins, and its library's decoder. Members that follow each
//          other are one text. Zeros behind a member are padding; anything else there is told.
// Errors:  a stream that broke off ends like any other and then has a failure().
// Limits:  decoders that want more memory than kUnpackMemoryMax end with Trouble::kTooMuchMemory.
// Threads: one thread.
// Source:  RFC 1952, RFC 8878, the xz and lz4 frame formats.
#ifndef FIRSTFAULT_COORDINATOR_COMPRESSED_STREAM_H_
#define FIRSTFAULT_COORDINATOR_COMPRESSED_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "coordinator/byte_stream.h"

namespace firstfault {

// xz -9 takes 65 MiB, zstd -19 8 MiB, zstd --ultra -22 128 MiB.
inline constexpr uint64_t kUnpackMemoryMax = uint64_t{256} << 20;

// Whether a stream that begins with `head` is compressed.
bool IsCompressed(std::string_view head);

// Undoes one member of a format.
class Codec {
 public:
  enum class State : uint8_t { kGoesOn, kMemberEnd, kFailed };
  virtual ~Codec() = default;
  // Takes bytes off the front of `in` and sets how many it wrote to `out`. No progress: it needs more input.
  virtual State Decode(std::string_view* in, std::span<char> out, size_t* written) = 0;
  const ReadFailure& failure() const { return failure_; }  // after kFailed

 protected:
  ReadFailure failure_{Trouble::kDamaged, {}};
};

class CompressedStream : public ByteStream {
 public:
  // `packed` begins with a member that IsCompressed() knows, and must outlive this. `buffer` is for what Next() gives.
  CompressedStream(ByteStream* packed, std::string* buffer);
  bool Next(Block* block) override;
  // Where the format keeps the time of the file that was packed.
  std::optional<int64_t> modified_ns() const { return modified_ns_; }

 private:
  bool Refill();
  void LookAhead(size_t bytes);
  bool BeginMember();
  void Fail(ReadFailure failure);

  ByteStream* packed_;
  std::string* buffer_;
  ByteStream::Block pending_;  // holes of the packed bytes are zeros to a decoder, which finds the damage
  std::string joined_;         // bytes of `in_` that come from two blocks
  std::string_view in_;        // not yet decoded
  uint64_t taken_ = 0;         // packed bytes up to the end of `in_`
  bool first_ = true;
  std::string_view format_;
  std::unique_ptr<Codec> codec_;  // nullptr: between members
  bool ended_ = false;
  std::optional<int64_t> modified_ns_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_COMPRESSED_STREAM_H_
