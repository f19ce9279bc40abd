// time_argument.h: the T of --since T and --until T.
//
// Why:     people paste times out of logs and tickets; what they leave out must not be guessed differently on
//          another machine, so a time without a zone is UTC, wherever this runs.
// Units:   Unix nanoseconds.
// Errors:  nullopt for anything that is not a time between 1970 and 2261.
// Threads: pure function.
#ifndef FIRSTFAULT_COORDINATOR_CLI_TIME_ARGUMENT_H_
#define FIRSTFAULT_COORDINATOR_CLI_TIME_ARGUMENT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace firstfault {

// RFC 3339, or "YYYY-MM-DD HH:MM[:SS]" with or without a zone.
std::optional<int64_t> ParseTimeArgument(const std::string& text);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_TIME_ARGUMENT_H_
