// output.h: standard output and error as the command uses them.
//
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_CLI_OUTPUT_H_
#define FIRSTFAULT_COORDINATOR_CLI_OUTPUT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace firstfault {

// Whole text to standard output; returns `code`, or kExitBug where it could not be written.
int Print(const std::string& text, int code);
// One message to standard error, as "firstfault: text"; returns `code`.
int Complain(std::string_view text, int code);
// The same of a status; the code is kExitNoInput for NotFound, kExitUsage for InvalidArgument, kExitUnavailable
// for Unavailable, kExitNoPermission for PermissionDenied and Unauthenticated, else kExitBug.
int Complain(const absl::Status& status);

// The terminal's width, kDefaultColumns where standard output is none.
size_t OutputColumns();
// Standard output is a terminal that shows colours, and the user did not refuse them (no-color.org).
bool OutputHasColour();

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_OUTPUT_H_
