// programs.h: child processes of the command: a launcher whose output passes through, and helpers beside it.
//
// Errors:  Unavailable, with the reason, where a program cannot be started.
// Threads: one thread; no other may run while a program is started.
#ifndef FIRSTFAULT_COORDINATOR_CLI_PROGRAMS_H_
#define FIRSTFAULT_COORDINATOR_CLI_PROGRAMS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace firstfault {

// The folder of this program: agent and coordinator stand beside it.
std::string ProgramFolder();
// As the system has it.
std::string HostName();

// A daemon of ours beside the job: out of reach of the terminal's signals, ended at the latest when this is. It
// starts with SIGTERM blocked, and lets it in when it can end in order.
// Its standard output goes to `out`, where that is not -1.
absl::StatusOr<pid_t> StartHelper(const std::vector<std::string>& words, int out = -1);
// Ends it with SIGTERM and waits for it.
void EndHelper(pid_t helper);

// Runs a command as if it had been started without us: same standard input, environment and process group; output
// that goes to a terminal still does, by way of another one. What it prints is passed on as it comes, and shown
// to `on_output`, whose `err` is true for standard error. Signals sent to us are passed on to it.
// What it leaves running keeps its output open: a second after its end we go.
// Returns its exit code, as a shell has it.
absl::StatusOr<int> RunThrough(const std::vector<std::string>& words,
                               const std::function<void(bool err, std::string_view bytes)>& on_output);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_PROGRAMS_H_
