// programs.h: the real programs as children of a test, on loopback.
//
// Why:     what users run is what is tested: no mock stands between agent, coordinator and command.
// Errors:  a program that cannot be started, or does not say where it listens, fails the test that asked.
// Threads: one thread.
#ifndef FIRSTFAULT_TESTS_E2E_PROGRAMS_H_
#define FIRSTFAULT_TESTS_E2E_PROGRAMS_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "proto/report.pb.h"

namespace firstfault::e2e {

struct Result {
  int code = -1;
  std::string out;  // both streams
};
Result Shell(const std::string& command);

// A program that runs until it is ended; killed at the latest when this goes.
class Child {
 public:
  // `out`: descriptor for its standard output; -1: ours. `hold_term`: SIGTERM waits until the program lets it in.
  explicit Child(const std::vector<std::string>& words, int out = -1, bool hold_term = false);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { End(9); }

  // Sends the signal, where it still runs, and waits. The exit code, or minus the signal that ended it.
  int End(int signal);
  int Wait();
  bool HasEnded() const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

class Coordinator {
 public:
  // Port 0: any. Stands when it says where it listens. `fail_point`: see WithFailPoint(). `more`: flags.
  explicit Coordinator(const std::filesystem::path& data, int port = 0, const std::string& fail_point = "",
                       const std::vector<std::string>& more = {});
  // Empty where it did not start.
  const std::string& address() const { return address_; }
  int port() const;
  // Where it serves HTTP, when `more` has --http.
  int http_port() const { return http_port_; }
  int End(int signal) { return child_.End(signal); }
  bool HasEnded() const { return child_.HasEnded(); }
  pid_t pid() const { return child_.pid(); }

 private:
  struct Started {
    Child child;
    std::string address;
    int http_port;
  };
  explicit Coordinator(Started started) : child_(std::move(started.child)), address_(std::move(started.address)), http_port_(started.http_port) {}
  static Started Start(const std::filesystem::path& data, int port, const std::string& fail_point, const std::vector<std::string>& more);

  Child child_;
  std::string address_;
  int http_port_;
};

// The words of an agent's command line that every test needs.
std::vector<std::string> AgentWords(const std::string& coordinator, const std::filesystem::path& spool, const std::string& job);

// The words that start a program which is killed at NAME:N (proto/fail_point.h); empty: it is not.
std::vector<std::string> WithFailPoint(std::vector<std::string> words, const std::string& fail_point);

// `firstfault why JOB --json`, with more arguments.
Result Why(const std::string& coordinator, const std::string& arguments);
v1::Report ParseReport(const std::string& json);

// A folder in the system's temporary place, removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace firstfault::e2e

#endif  // FIRSTFAULT_TESTS_E2E_PROGRAMS_H_
