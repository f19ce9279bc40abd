#include "coordinator/cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "coordinator/cli/exit_codes.h"
#include "coordinator/render.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

struct StatusRow {
  absl::StatusCode status;
  int exit_code;
};
constexpr StatusRow kStatusRows[] = {{absl::StatusCode::kNotFound, kExitNoInput},
                                     {absl::StatusCode::kInvalidArgument, kExitUsage},
                                     {absl::StatusCode::kUnavailable, kExitUnavailable},
                                     {absl::StatusCode::kPermissionDenied, kExitNoPermission},
                                     {absl::StatusCode::kUnauthenticated, kExitNoPermission}};

}  // namespace

int Print(const std::string& text, int code) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return code;
  return Complain(Cat("cannot write to standard output: ", std::strerror(errno)), kExitBug);
}

int Complain(std::string_view text, int code) {
  std::string out = "firstfault: ";
  for (const std::string_view line : Split(text, '\n')) out += Cat(Printable(line), '\n');
  std::fwrite(out.data(), 1, out.size(), stderr);
  return code;
}

int Complain(const absl::Status& status) {
  int code = kExitBug;
  for (const StatusRow& row : kStatusRows) {
    if (row.status == status.code()) code = row.exit_code;
  }
  return Complain(std::string(status.message()), code);
}

size_t OutputColumns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultColumns;
  return size.ws_col;
}

bool OutputHasColour() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace firstfault
