// progress_lines.h: what a long reading says on standard error meanwhile.
//
// Why:     silence for a minute looks like a hang; a line for a small folder is noise.
// Model:   nothing within the first second; then on a terminal one line that is rewritten, elsewhere a line
//          every few seconds. Time is an argument.
// Threads: thread-compatible.
#ifndef FIRSTFAULT_COORDINATOR_CLI_PROGRESS_LINES_H_
#define FIRSTFAULT_COORDINATOR_CLI_PROGRESS_LINES_H_

#include <cstdint>
#include <string>

namespace firstfault {

class ProgressLines {
 public:
  ProgressLines(bool terminal, int64_t now_ns) : terminal_(terminal), last_ns_(now_ns) {}

  // The text to write now, mostly none.
  std::string Update(int64_t now_ns, int64_t sources, uint64_t bytes);
  // The text that removes what stands on the terminal.
  std::string Done();

 private:
  const bool terminal_;
  int64_t last_ns_;
  bool shown_ = false;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_PROGRESS_LINES_H_
