// arguments.h: the flags of one command, parsed.
//
// Why:     every command answers --help and complains in the same way: exit 64, and what may have been meant.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_CLI_ARGUMENTS_H_
#define FIRSTFAULT_COORDINATOR_CLI_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace firstfault {

// Fills the variables that `app` was given. An exit code means: say no more and leave with it.
std::optional<int> ParseArguments(CLI::App* app, std::vector<std::string> arguments);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_ARGUMENTS_H_
