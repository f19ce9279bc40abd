#include "coordinator/cli/program_main.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string_view>

#include "coordinator/cli/exit_codes.h"

namespace firstfault {

int ProgramMain(int argc, char** argv, int (*run)(const std::vector<std::string>& arguments)) {
  // A failed assertion or an exception that nobody expects says so on standard error and aborts.
  std::signal(SIGABRT, [](int) { _exit(kExitBug); });
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    // Without a string: there is no memory for one.
    constexpr std::string_view kMessage = "firstfault: out of memory: allow it more (ulimit -v, the container's limit), or give it fewer logs at once\n";
    std::fwrite(kMessage.data(), 1, kMessage.size(), stderr);
    return kExitBug;
  }
}

}  // namespace firstfault
