// The firstfault command.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/cli/commands.h"
#include "coordinator/cli/exit_codes.h"

int main(int argc, char** argv) {
  // A failed assertion or an exception that nobody expects says so on standard error and aborts; callers are
  // told by the exit code that the fault is ours, not the job's.
  std::signal(SIGABRT, [](int) { _exit(firstfault::kExitBug); });
  try {
    return firstfault::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    // Without a string: there is no memory for one.
    constexpr std::string_view kMessage = "firstfault: out of memory: allow it more (ulimit -v, the container's limit), or give it fewer logs at once\n";
    std::fwrite(kMessage.data(), 1, kMessage.size(), stderr);
    return firstfault::kExitBug;
  }
}
