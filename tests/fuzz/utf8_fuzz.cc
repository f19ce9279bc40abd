// Any bytes become valid UTF-8, and valid UTF-8 stays as it is; shown text is one line without control
// characters.
#include <algorithm>
#include <string>
#include <string_view>

#include "coordinator/shown_text.h"
#include "correlate/check.h"
#include "correlate/utf8.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

bool IsUtf8(std::string_view text) {
  bool lossy = false;
  firstfault::ToUtf8(text, &lossy);
  return !lossy;
}

void CheckShown(std::string_view bytes) {
  const std::string shown = firstfault::Printable(bytes);
  FF_CHECK(IsUtf8(shown));
  FF_CHECK(std::all_of(shown.begin(), shown.end(), [](char c) { return static_cast<uint8_t>(c) >= ' ' && c != 0x7f; }));
  for (const size_t columns : {8, 20, 100}) {
    const std::string cut = firstfault::CutMiddle(shown, columns);
    FF_CHECK(IsUtf8(cut) && firstfault::Columns(cut) <= columns);
    FF_CHECK(IsUtf8(firstfault::Wrap(shown, columns, "    ")));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = firstfault::fuzz::Text(data, size);
  bool lossy = false;
  const std::string text = firstfault::ToUtf8(bytes, &lossy);
  FF_CHECK(lossy || text == bytes);
  FF_CHECK(IsUtf8(text));
  FF_CHECK(firstfault::ToUtf8(bytes, nullptr) == text);
  CheckShown(bytes);
  CheckShown(text);
  return 0;
}
