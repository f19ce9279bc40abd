#include "coordinator/cli/programs.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
// What others hold open when the launcher has ended is read for so long.
constexpr int kDrainMs = 1000;
constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};

sigset_t SignalsOf(bool with_window) {
  sigset_t out;
  sigemptyset(&out);
  for (const int signal : kPassedOn) sigaddset(&out, signal);
  if (with_window) sigaddset(&out, SIGWINCH);
  return out;
}

// In the child: never returns.
[[noreturn]] void Exec(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const std::string message = Cat("firstfault: ", words[0], ": ", std::strerror(errno), "\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(errno == ENOENT ? 127 : 126);  // as a shell has it
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ExitCode(status);
}

// One of the launcher's output streams.
struct Stream {
  int ours = -1, theirs = -1;  // the ends of a pipe, or of a terminal
  int passed_to;               // our own descriptor

  bool Open() {
    if (isatty(passed_to) == 0) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) return false;
      ours = ends[0];
      theirs = ends[1];
      return true;
    }
    winsize size{};
    ioctl(passed_to, TIOCGWINSZ, &size);
    termios raw{};
    tcgetattr(passed_to, &raw);
    cfmakeraw(&raw);  // our own terminal does what is to be done with line ends
    if (openpty(&ours, &theirs, nullptr, &raw, &size) != 0) return false;
    fcntl(ours, F_SETFD, FD_CLOEXEC);
    fcntl(theirs, F_SETFD, FD_CLOEXEC);
    return true;
  }
  void CopyWindowSize() const {
    winsize size{};
    if (isatty(passed_to) != 0 && ioctl(passed_to, TIOCGWINSZ, &size) == 0) ioctl(ours, TIOCSWINSZ, &size);
  }
  void Close(int* end) {
    if (*end >= 0) close(*end);
    *end = -1;
  }
};

// False: nobody reads there any more.
bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      poll(&room, 1, -1);
      continue;
    }
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string ProgramFolder() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  const std::string_view program(path, size > 0 ? static_cast<size_t>(size) : 0);
  return std::string(program.substr(0, program.rfind('/')));
}

absl::StatusOr<pid_t> StartHelper(const std::vector<std::string>& words, int out) {
  if (access(words[0].c_str(), X_OK) != 0) return absl::UnavailableError(Cat(words[0], ": ", std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::UnavailableError(Cat(words[0], ": ", std::strerror(errno)));
  if (pid > 0) return pid;
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(0);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  Exec(words);
}

void EndHelper(pid_t helper) {
  kill(helper, SIGTERM);
  WaitFor(helper);
}

absl::StatusOr<int> RunThrough(const std::vector<std::string>& words,
                               const std::function<void(bool err, std::string_view bytes)>& on_output) {
  Stream streams[] = {{-1, -1, STDOUT_FILENO}, {-1, -1, STDERR_FILENO}};
  if (!streams[0].Open() || !streams[1].Open()) return absl::UnavailableError(Cat("no pipe: ", std::strerror(errno)));
  sigset_t before;
  const sigset_t ours = SignalsOf(true);
  sigprocmask(SIG_BLOCK, &ours, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    dup2(streams[0].theirs, STDOUT_FILENO);
    dup2(streams[1].theirs, STDERR_FILENO);
    Exec(words);
  }
  if (pid < 0) return absl::UnavailableError(Cat(words[0], ": ", std::strerror(errno)));
  for (Stream& stream : streams) stream.Close(&stream.theirs);
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  const int signals = signalfd(-1, &ours, SFD_CLOEXEC);

  std::string piece(kPieceBytes, '\0');
  bool running = true;
  while (running || streams[0].ours >= 0 || streams[1].ours >= 0) {
    pollfd waiting[] = {{streams[0].ours, POLLIN, 0}, {streams[1].ours, POLLIN, 0}, {running ? ended : -1, POLLIN, 0}, {signals, POLLIN, 0}};
    const int ready = poll(waiting, 4, running ? -1 : kDrainMs);
    if (ready == 0) break;
    if (ready < 0) continue;  // interrupted
    for (int i = 0; i < 2; ++i) {
      Stream& stream = streams[i];
      if (waiting[i].revents == 0) continue;
      const ssize_t got = read(stream.ours, piece.data(), piece.size());
      if (got <= 0) {  // a terminal ends with an error
        stream.Close(&stream.ours);
        continue;
      }
      const std::string_view bytes = std::string_view(piece).substr(0, static_cast<size_t>(got));
      on_output(i == 1, bytes);
      // Where nobody reads us, nobody reads it: it is told as it would have been.
      if (!WriteAll(stream.passed_to, bytes)) stream.Close(&stream.ours);
    }
    if (waiting[3].revents != 0) {
      signalfd_siginfo info{};
      if (read(signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGWINCH) {
          for (const Stream& stream : streams) stream.CopyWindowSize();
        } else if (info.ssi_code <= 0) {  // from a process; the terminal's go to the whole group
          kill(pid, static_cast<int>(info.ssi_signo));
        }
      }
    }
    if (waiting[2].revents != 0) running = false;
  }
  const int code = WaitFor(pid);
  for (Stream& stream : streams) stream.Close(&stream.ours);
  close(ended);
  close(signals);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

}  // namespace firstfault
