// record_decoder.h: cuts a source into records and hands each to one kind of decoder.
//
// Why:     lines, export entries and objects of a JSON list arrive in arbitrary cuts; holding back an
//          unfinished record and giving up on an endless one is the same for all of them.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_RECORD_DECODER_H_
#define FIRSTFAULT_COORDINATOR_RECORD_DECODER_H_

#include <string>
#include <string_view>

#include "coordinator/decode.h"

namespace firstfault {

class RecordDecoder : public Decoder {
 public:
  void Feed(std::string_view bytes, std::string* out) final;
  void Flush(std::string* out) final;

 protected:
  // Size of the record that `bytes` begins with, its end mark included; npos if it does not end in it.
  // `bytes` grows between calls; `*resume` (0 for a new record) carries how far an earlier call looked.
  virtual size_t RecordSize(std::string_view bytes, size_t* resume) = 0;
  // Appends the record's text. False: not a record of this form, nothing was appended.
  virtual bool Decode(std::string_view record, std::string* out) = 0;
  // Appends what was held back across records.
  virtual void FlushHeld(std::string* /*out*/) {}

 private:
  void Take(std::string_view record, std::string* out);

  std::string unfinished_;
  size_t resume_ = 0;
  bool oversized_ = false;  // passing on a record that is too long, up to its line end
};

// One record a line.
class LineDecoder : public RecordDecoder {
 protected:
  size_t RecordSize(std::string_view bytes, size_t* resume) final;
};

// Appends `text` line by line, each after `prefix`; a final line end is not a line.
void AppendLines(std::string_view prefix, std::string_view text, std::string* out);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_RECORD_DECODER_H_
