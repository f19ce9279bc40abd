// escape.h: a user's name for a job in places that take few characters: file names and tokens.
//
// Example: "a/b" is "a%2Fb".
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_ESCAPE_H_
#define FIRSTFAULT_COORDINATOR_ESCAPE_H_

#include <optional>
#include <string>
#include <string_view>

namespace firstfault {

// Letters, digits, - and _ stay; every other byte becomes %XX.
std::string Escaped(std::string_view name);
// nullopt: not what Escaped() makes of any name.
std::optional<std::string> Unescaped(std::string_view text);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_ESCAPE_H_
