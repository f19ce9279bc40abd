// Streams that unpack or recode any bytes never crash, and how their input is cut changes nothing: of damaged input, how
// much a library gives before it notices does depend on that.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "coordinator/byte_stream.h"
#include "coordinator/compressed_stream.h"
#include "coordinator/utf16_stream.h"
#include "correlate/check.h"

namespace {

using firstfault::ByteStream;

// A few kilobytes can unpack to gigabytes: enough is seen here.
constexpr size_t kUnpackedMax = 1 << 20;

class Pieces : public ByteStream {
 public:
  Pieces(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}
  bool Next(Block* block) override {
    if (bytes_.empty()) return false;
    *block = {0, bytes_.substr(0, piece_)};
    bytes_.remove_prefix(block->bytes.size());
    return true;
  }

 private:
  std::string_view bytes_;
  size_t piece_;
};

struct Text {
  std::string bytes;
  bool failed = false;
  bool operator==(const Text&) const = default;
};

Text ReadAll(ByteStream* stream) {
  Text out;
  ByteStream::Block block;
  while (out.bytes.size() < kUnpackedMax && stream->Next(&block)) {
    out.bytes.append(block.hole % kUnpackedMax, '\0');
    out.bytes.append(block.bytes);
  }
  out.failed = out.bytes.size() < kUnpackedMax && stream->failure().has_value();
  out.bytes.resize(std::min(out.bytes.size(), kUnpackedMax));
  return out;
}

Text Unpacked(std::string_view packed, size_t piece) {
  Pieces pieces(packed, piece);
  std::string buffer;
  firstfault::CompressedStream stream(&pieces, &buffer);
  return ReadAll(&stream);
}

Text Recoded(std::string_view bytes, size_t piece) {
  Pieces pieces(bytes, piece);
  firstfault::Utf16Stream stream(&pieces);
  return ReadAll(&stream);
}

}  // namespace

// The first byte chooses where the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = 1 + data[0] % 97;
  if (firstfault::IsCompressed(bytes)) {
    const Text whole = Unpacked(bytes, bytes.size()), cut = Unpacked(bytes, piece);
    FF_CHECK(whole.failed || cut.failed || whole == cut);
  }
  if (firstfault::BeginsAsUtf16(bytes)) FF_CHECK(Recoded(bytes, bytes.size()) == Recoded(bytes, piece));
  return 0;
}
