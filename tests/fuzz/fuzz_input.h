// fuzz_input.h: fuzzer bytes as the things that parsers take.
//
// Threads: pure functions; the results point into the input.
#ifndef FIRSTFAULT_TESTS_FUZZ_FUZZ_INPUT_H_
#define FIRSTFAULT_TESTS_FUZZ_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "correlate/parse/line.h"
#include "correlate/text.h"

namespace firstfault::fuzz {

inline std::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Whether `part` is a view into `whole`, or empty.
inline bool Inside(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// A reader of the text's lines. `text` must outlive it.
inline LineReader ReaderOf(std::string_view text) {
  auto lines = std::make_shared<std::vector<std::string_view>>(Split(text, '\n'));
  const PrefixHabits habits = LearnHabits(*lines);
  return LineReader([text, lines, habits, next = size_t{0}]() mutable -> std::unique_ptr<SourceLine> {
    if (next == lines->size()) return nullptr;
    const std::string_view line = (*lines)[next++];
    return std::make_unique<SourceLine>(static_cast<uint64_t>(line.data() - text.data()), line, habits);
  });
}

}  // namespace firstfault::fuzz

#endif  // FIRSTFAULT_TESTS_FUZZ_FUZZ_INPUT_H_
