// Collectors' records of any content never crash a decoder, and cuts do not change what it writes.
#include <algorithm>
#include <string>
#include <string_view>

#include "coordinator/content_kind.h"
#include "coordinator/decode.h"
#include "correlate/check.h"

namespace {

// The first byte chooses where the rest is cut.
std::string Decoded(std::string_view text, size_t cut, int64_t* passed_on) {
  const auto decoder = firstfault::DecoderFor(text.substr(0, firstfault::kHeadBytes));
  if (!decoder) return std::string(text);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(cut, text.size())))
    decoder->Feed(text.substr(0, cut), &out);
  decoder->Flush(&out);
  *passed_on = decoder->passed_on();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  firstfault::ContentKindOf(text);
  int64_t whole_passed_on = 0, cut_passed_on = 0;
  const std::string whole = Decoded(text, size, &whole_passed_on);
  const std::string cut = Decoded(text, 1 + data[0] % 97, &cut_passed_on);
  FF_CHECK(whole == cut);
  FF_CHECK(whole_passed_on == cut_passed_on);
  return 0;
}
