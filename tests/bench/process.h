// process.h: programs run and measured, and the peer that every bench of ours is measured beside: ripgrep
// with the same patterns.
#ifndef FIRSTFAULT_TESTS_BENCH_PROCESS_H_
#define FIRSTFAULT_TESTS_BENCH_PROCESS_H_

#include <fcntl.h>
#include <re2/re2.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "correlate/catalogue.h"

namespace firstfault::bench {

struct Measured {
  double seconds = 0;      // by the wall
  double cpu_seconds = 0;  // user and system: what is left when other programs share the machine
  int64_t peak_kib = 0;    // resident; at least what the caller itself had at the fork
  int exit_code = 0;
};

// Runs a program with its standard output in `out` and without its messages; nullopt where it cannot run or
// ends by a signal.
inline std::optional<Measured> RunProgram(const std::vector<std::string>& command, const std::string& out) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) _exit(127);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) return std::nullopt;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return Measured{seconds.count(), in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime), usage.ru_maxrss,
                  WEXITSTATUS(status)};
}

// The catalogue's patterns, one a line, as ripgrep takes them.
inline void WriteRipgrepPatterns(const Catalogue& catalogue, const std::string& path) {
  std::ofstream out(path);
  for (const CompiledPattern& pattern : catalogue.patterns()) {
    std::string regex = pattern.regex();
    // ripgrep joins the patterns: a capture name may then stand only once.
    RE2::GlobalReplace(&regex, R"(\(\?P<[a-z_]+>)", "(?:");
    RE2::GlobalReplace(&regex, R"(\\(['"/<>:;,=@%&~`! ]))", R"(\1)");  // it refuses needless escapes
    out << regex << "\n";
  }
}

// rg -j1 -c over a file or folder; nullopt where it is not installed or refuses the patterns.
inline std::optional<Measured> RunRipgrep(const std::string& patterns, const std::string& path) {
  auto measured = RunProgram({"rg", "-j1", "-c", "--no-config", "--no-ignore", "--regex-size-limit=1G",
                              "--dfa-size-limit=1G", "-f", patterns, path},
                             "/dev/null");
  if (measured && measured->exit_code > 1) return std::nullopt;  // 1: no line matched
  return measured;
}

}  // namespace firstfault::bench

#endif  // FIRSTFAULT_TESTS_BENCH_PROCESS_H_
