// nearest.h: "did you mean" for commands, flags and signature ids.
//
// Threads: pure function.
// Order:   nearest first, then as given.
#ifndef FIRSTFAULT_COORDINATOR_CLI_NEAREST_H_
#define FIRSTFAULT_COORDINATOR_CLI_NEAREST_H_

#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

// At most `count` of the known words that `word` may have been meant for: a few letters off, or part of them.
std::vector<std::string> NearestWords(std::string_view word, const std::vector<std::string>& known,
                                      size_t count);

// "; did you mean a, b?", or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known, size_t count);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_NEAREST_H_
