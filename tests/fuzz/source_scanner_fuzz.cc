// A source of any bytes never crashes the scanner, and cuts do not change what it says.
#include <algorithm>
#include <string_view>
#include <tuple>

#include "correlate/check.h"
#include "correlate/source_scanner.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using firstfault::Event;
using firstfault::SourceDigest;

SourceDigest Scanned(std::string_view bytes, size_t cut, firstfault::SourceInfo::Kind kind) {
  static auto* const buffers = new firstfault::ScanBuffers;
  firstfault::SourceInfo info;
  info.kind = kind;
  firstfault::SourceScanner scanner(firstfault::BuiltInEngine(), *buffers, info);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) scanner.Feed(bytes.substr(0, cut));
  return scanner.Finish();
}

auto Key(const Event& event) {
  return std::tie(event.signature, event.at.line, event.at.byte_offset, event.text, event.block, event.context,
                  event.fields, event.also, event.exception, event.count, event.last_at.line);
}

bool SameEvents(const std::vector<Event>& a, const std::vector<Event>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Event& x, const Event& y) { return Key(x) == Key(y); });
}

}  // namespace

// The first byte chooses the kind of the source and where the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = firstfault::fuzz::Text(data, size).substr(1);
  const auto kind = data[0] % 2 == 0 ? firstfault::SourceInfo::Kind::kUnknown : firstfault::SourceInfo::Kind::kKernelLog;
  const SourceDigest whole = Scanned(bytes, bytes.size(), kind);
  const SourceDigest cut = Scanned(bytes, 1 + data[0] / 2 % 101, kind);
  FF_CHECK(whole.bytes == static_cast<int64_t>(bytes.size()));
  FF_CHECK(whole.lines == cut.lines && whole.bytes == cut.bytes);
  FF_CHECK(SameEvents(whole.events, cut.events));
  FF_CHECK(SameEvents(whole.facts, cut.facts));
  FF_CHECK(whole.lines_cut == cut.lines_cut);
  FF_CHECK(whole.progress.size() == cut.progress.size() && whole.memory.size() == cut.memory.size() &&
           whole.remarks.size() == cut.remarks.size());
  FF_CHECK(whole.writers.size() == cut.writers.size());
  FF_CHECK(whole.benign == cut.benign);
  for (const Event& event : whole.events) {
    FF_CHECK(event.at.line >= 1 && event.at.line <= whole.lines);
    FF_CHECK(event.at.byte_offset < bytes.size());
    FF_CHECK(event.text.size() <= firstfault::kTextBytesMax);
  }
  return 0;
}
