// The firstfault command.
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "coordinator/cli/commands.h"
#include "coordinator/cli/exit_codes.h"

int main(int argc, char** argv) {
  // A failed assertion or an exception that nobody expects says so on standard error and aborts; callers are
  // told by the exit code that the fault is ours, not the job's.
  std::signal(SIGABRT, [](int) { _exit(firstfault::kExitBug); });
  return firstfault::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc));
}
