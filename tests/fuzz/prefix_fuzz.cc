// Prefixes of any content: what is peeled and what is left are parts of the line, in order.
#include <algorithm>
#include <string_view>
#include <vector>

#include "correlate/check.h"
#include "correlate/parse/prefix.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

void CheckLine(std::string_view line, const firstfault::PrefixHabits& habits) {
  const firstfault::Peeled peeled = firstfault::Peel(line, habits);
  FF_CHECK(firstfault::fuzz::Inside(peeled.message, line));
  FF_CHECK(peeled.prefix.length <= line.size());
  FF_CHECK(peeled.dialects.size() <= static_cast<size_t>(firstfault::kPeelsMax));
  FF_CHECK(peeled.outer <= peeled.dialects.size());
  for (const size_t start : peeled.starts) FF_CHECK(start <= line.size());
  const std::vector<size_t> glued = firstfault::GluedStarts(line);
  FF_CHECK(std::is_sorted(glued.begin(), glued.end()));
  for (const size_t start : glued) FF_CHECK(start > 0 && start < line.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::string_view> lines = firstfault::Split(firstfault::fuzz::Text(data, size), '\n');
  const firstfault::PrefixHabits habits = firstfault::LearnHabits(lines);
  const firstfault::PrefixHabits all = {true, true, true, true};
  for (const std::string_view line : lines) {
    CheckLine(line, {});
    CheckLine(line, habits);
    CheckLine(line, all);
  }
  return 0;
}
