#include "tests/e2e/programs.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "correlate/text.h"

namespace firstfault::e2e {

namespace fs = std::filesystem;

Result Shell(const std::string& command) {
  Result result;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) result.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

Child::Child(const std::vector<std::string>& words, int out, bool hold_term) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  EXPECT_GE(pid_, 0);
  if (pid_ != 0) return;
  if (out >= 0) dup2(out, STDOUT_FILENO);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  if (hold_term) sigprocmask(SIG_BLOCK, &term, nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int Child::Wait() {
  if (pid_ <= 0) return -1;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool Child::HasEnded() const {
  siginfo_t info{};
  return pid_ <= 0 || (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_);
}

int Child::End(int signal) {
  if (pid_ <= 0) return -1;
  kill(pid_, signal);
  return Wait();
}

Coordinator::Started Coordinator::Start(const fs::path& data, int port, const std::string& fail_point, const std::vector<std::string>& more) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::vector<std::string> words = {FIRSTFAULT_COORDINATOR_BINARY, "--data-dir", data.string()};
  if (std::find(more.begin(), more.end(), "--listen") == more.end()) words.insert(words.end(), {"--listen", Cat("127.0.0.1:", port)});
  words.insert(words.end(), more.begin(), more.end());
  Child child(WithFailPoint(std::move(words), fail_point), ends[1]);
  close(ends[1]);
  const auto line = [&] {
    std::string said;
    for (char byte; read(ends[0], &byte, 1) == 1 && byte != '\n';) said.push_back(byte);
    return said;
  };
  const std::string said = line();
  const bool serves_http = std::find(more.begin(), more.end(), "--http") != more.end();
  const std::string http = serves_http ? line() : "";
  close(ends[0]);
  constexpr std::string_view kListening = "listening on ";
  return {std::move(child), said.starts_with(kListening) ? said.substr(kListening.size()) : "",
          http.starts_with("HTTP on ") ? std::stoi(http.substr(http.rfind(':') + 1)) : 0};
}

Coordinator::Coordinator(const fs::path& data, int port, const std::string& fail_point, const std::vector<std::string>& more)
    : Coordinator(Start(data, port, fail_point, more)) {}

int Coordinator::port() const { return std::stoi(address_.substr(address_.rfind(':') + 1)); }

std::vector<std::string> AgentWords(const std::string& coordinator, const fs::path& spool, const std::string& job) {
  return {FIRSTFAULT_AGENT_BINARY, "--coordinator", coordinator, "--spool-dir", spool.string(), "--job", job};
}

std::vector<std::string> WithFailPoint(std::vector<std::string> words, const std::string& fail_point) {
  if (fail_point.empty()) return words;
  words.insert(words.begin(), {"/usr/bin/env", Cat("FIRSTFAULT_FAIL_POINT=", fail_point)});
  return words;
}

Result Why(const std::string& coordinator, const std::string& arguments) {
  return Shell(Cat(FIRSTFAULT_BINARY, " why --coordinator ", coordinator, " ", arguments));
}

v1::Report ParseReport(const std::string& json) {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok()) << json.substr(0, 2000);
  return report;
}

Scratch::Scratch() {
  std::string name = testing::TempDir() + "firstfault_e2e_XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace firstfault::e2e
