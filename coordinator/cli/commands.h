// commands.h: the subcommands of firstfault, as a table.
//
// Why:     a command is known when it works; there are no stubs. Those that talk to a coordinator are in a program
//          of their own, firstfault-live: loading gRPC takes longer than many a diagnosis.
// Threads: one thread; commands write to standard output and error.
#ifndef FIRSTFAULT_COORDINATOR_CLI_COMMANDS_H_
#define FIRSTFAULT_COORDINATOR_CLI_COMMANDS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

struct Command {
  std::string_view name;
  std::string_view help;                                  // one line
  int (*run)(const std::vector<std::string>& arguments);  // without the name; returns the exit code; nullptr: firstfault-live has it
};

std::span<const Command> Commands();

// Runs the command that the first argument names.
int RunCommandLine(const std::vector<std::string>& arguments);

// Each in a file of its own.
int Diagnose(const std::vector<std::string>& arguments);
int Doctor(const std::vector<std::string>& arguments);
int Jobs(const std::vector<std::string>& arguments);
int Run(const std::vector<std::string>& arguments);
int Signatures(const std::vector<std::string>& arguments);
int Why(const std::vector<std::string>& arguments);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_COMMANDS_H_
