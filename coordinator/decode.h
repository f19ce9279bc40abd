// decode.h: collectors' records into the text lines that they were made from.
//
// Why:     journald, Docker, dmesg -J and torchrun wrap lines in JSON; the engine reads lines. An application's
//          own JSON lines are its log and stay as they are.
// Model:   a decoder is chosen by the first lines of a source and then fed in any cuts; what it writes
//          depends on the bytes alone, not on the cuts. Each form is turned into one that the prefix table
//          knows (correlate/parse):
//            journald  YYYY-MM-DDTHH:MM:SS.ffffffZ host ident[pid]: text   (kernel: "[sec.usec] text")
//            Docker    TIME stream F text                                  (as CRI files)
//            CRI       as it stands, partial records joined
//            dmesg -J  [sec.usec] text
//            torchrun  its error.json: YYYY-MM-DDTHH:MM:SSZ and a line of the traceback
// Errors:  a record that does not parse is passed on as it is and counted.
// Limits:  a record longer than kRecordBytesMax is passed on unread.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_DECODE_H_
#define FIRSTFAULT_COORDINATOR_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace firstfault {

// Collectors cut messages at 16 to 256 KiB; with other fields and escapes a record stays below this.
inline constexpr size_t kRecordBytesMax = 1 << 20;

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Appends the text of the records that end in `bytes`.
  virtual void Feed(std::string_view bytes, std::string* out) = 0;
  // The source ends or has a hole here: appends what was held back.
  virtual void Flush(std::string* out) = 0;
  int64_t passed_on() const { return passed_on_; }

 protected:
  int64_t passed_on_ = 0;
};

// nullptr: plain text. `head` is the beginning of the source.
std::unique_ptr<Decoder> DecoderFor(std::string_view head);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_DECODE_H_
