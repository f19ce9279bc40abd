// utf16_stream.h: UTF-16 text as UTF-8, while it is read.
//
// Why:     PowerShell and other Windows tools capture a job's output so; everything behind reads UTF-8.
// Model:   the byte order mark at the beginning tells the order. Text without one is not known from integers.
// Units:   code units stand at even offsets of the source, also behind a hole.
// Errors:  what is no character becomes U+FFFD.
// Threads: one thread.
// Source:  RFC 2781.
#ifndef FIRSTFAULT_COORDINATOR_UTF16_STREAM_H_
#define FIRSTFAULT_COORDINATOR_UTF16_STREAM_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "coordinator/byte_stream.h"

namespace firstfault {

bool BeginsAsUtf16(std::string_view head);

class Utf16Stream : public ByteStream {
 public:
  // `inner` begins with a byte order mark, and must outlive this.
  explicit Utf16Stream(ByteStream* inner) : inner_(inner) {}
  bool Next(Block* block) override;

 private:
  void Take(unsigned char byte);
  void TakeUnit(uint32_t unit);
  void EndCharacter();

  ByteStream* inner_;
  std::string text_;
  uint64_t offset_ = 0;  // of the next byte
  bool big_endian_ = false;
  unsigned char first_byte_ = 0;  // of a unit, where `offset_` is odd
  bool half_ = false;             // it was read
  uint32_t high_ = 0;             // of a pair of surrogates; 0: none waits
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_UTF16_STREAM_H_
