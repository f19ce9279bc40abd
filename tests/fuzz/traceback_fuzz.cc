// Tracebacks of any content: what is found lies inside the text, in order.
#include <algorithm>

#include "correlate/check.h"
#include "correlate/parse/traceback.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = firstfault::fuzz::Text(data, size);
  firstfault::LineReader reader = firstfault::fuzz::ReaderOf(text);
  const firstfault::SourceLine* first = reader.At(0);
  firstfault::IsTracebackStart(first->message());
  const firstfault::TracebackParse parsed = firstfault::ParseTraceback(reader);
  const size_t lines = firstfault::Split(text, '\n').size();
  FF_CHECK(std::is_sorted(parsed.lines.begin(), parsed.lines.end()));
  FF_CHECK(parsed.lines.empty() || parsed.lines.back() < lines);
  for (const firstfault::TracebackChain& chain : parsed.chains) {
    FF_CHECK(chain.cause < chain.raised.size());
    for (const firstfault::Raised& raised : chain.raised) {
      FF_CHECK(raised.line < lines);
      FF_CHECK(raised.lines_end > raised.line && raised.lines_end <= lines);
    }
  }
  return 0;
}
