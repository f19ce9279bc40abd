// exit_codes.h: what the firstfault command exits with.
//
// Why:     a scheduler hook branches on the class of a failure without reading a report.
// Threads: constants and a pure function.
#ifndef FIRSTFAULT_COORDINATOR_CLI_EXIT_CODES_H_
#define FIRSTFAULT_COORDINATOR_CLI_EXIT_CODES_H_

#include "proto/report.pb.h"

namespace firstfault {

inline constexpr int kExitOk = 0;
inline constexpr int kExitUndetermined = 20;
// The names of sysexits.h: EX_USAGE, EX_NOINPUT, EX_UNAVAILABLE, EX_SOFTWARE, EX_NOPERM.
inline constexpr int kExitUsage = 64;
inline constexpr int kExitNoInput = 66;
inline constexpr int kExitUnavailable = 69;  // the coordinator
inline constexpr int kExitBug = 70;
inline constexpr int kExitNoPermission = 77;  // the coordinator does not let us

// By class where a fault is named, kExitUndetermined where verdict or class is undetermined.
int ExitCodeOf(const v1::Report& report);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_EXIT_CODES_H_
