// firstfault run: a job's launcher with an agent beside it, and the verdict when it fails.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/coordinator_client.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/programs.h"
#include "coordinator/cli/report_flags.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

namespace fs = std::filesystem;

// Our own agent has said its last before the question; another host's may be on its way.
constexpr int64_t kFinalWithinNs = 5'000'000'000;

struct RunFlags {
  CoordinatorFlags coordinator;  // no address: one of our own
  std::string job, keep;
  std::optional<uint32_t> attempt;
  std::vector<std::string> logs;
  bool exit_verdict = false;
};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Slurm counts the requeues of a job; elsewhere a start is a job of its own.
void NameJob(RunFlags* flags) {
  if (flags->job.empty()) flags->job = Environment("FIRSTFAULT_JOB");
  if (flags->job.empty()) {
    flags->job = Environment("SLURM_JOB_ID");
    if (!flags->job.empty() && !flags->attempt) flags->attempt = ParseNumber<uint32_t>(Environment("SLURM_RESTART_COUNT"));
  }
  if (flags->job.empty()) flags->job = Cat("run-", static_cast<int64_t>(std::time(nullptr)), "-", getpid());
}

// "--nnodes 4", "--nnodes=1:4": the most that it may be. 1 where nothing says more.
int NodesOf(const std::vector<std::string>& command) {
  std::vector<std::string> told = {Environment("SLURM_NNODES"), Environment("PET_NNODES")};
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "--nnodes" && i + 1 < command.size()) told.push_back(command[i + 1]);
    if (command[i].starts_with("--nnodes=")) told.push_back(command[i].substr(command[i].find('=') + 1));
  }
  int nodes = 1;
  for (const std::string& text : told) nodes = std::max(nodes, ParseNumber<int>(std::string_view(text).substr(text.rfind(':') + 1)).value_or(1));
  return nodes;
}

// What stands beside the job: a folder, the coordinator where none was named, and the agent.
class Beside {
 public:
  ~Beside() {
    StopAgent();
    if (coordinator_ > 0) EndHelper(coordinator_);
    std::error_code ignored;
    if (!folder_.empty() && !kept_) fs::remove_all(folder_, ignored);
  }

  absl::Status Start(const RunFlags& flags) {
    kept_ = !flags.keep.empty();
    if (auto status = MakeFolder(flags.keep); !status.ok()) return status;
    const bool own = flags.coordinator.address.empty();
    if (own) {
      if (auto status = StartCoordinator(); !status.ok()) return status;
    } else {
      auto found = FindCoordinator(flags.coordinator);
      if (!found.ok()) return found.status();
      peer_ = *std::move(found);
    }
    // torchrun puts the error files of its workers there.
    if (Environment("PET_LOG_DIR").empty()) setenv("PET_LOG_DIR", (folder_ / "torchelastic").c_str(), 1);
    std::vector<std::string> words = {Cat(ProgramFolder(), "/firstfault-agent"), "--coordinator", peer_.address, "--spool-dir", folder_ / "spool",
                                      "--job", flags.job, "--attempt", Cat(flags.attempt.value_or(0))};
    // A coordinator of our own is near: what is offline is here as well.
    if (own) words.insert(words.end(), {"--ship", "all"});
    const CredentialFiles& files = flags.coordinator.files;
    const std::pair<const char*, const std::string*> passed_on[] = {
        {"--tls-cert", &files.cert}, {"--tls-key", &files.key}, {"--tls-ca", &files.ca}, {"--token-file", &files.token}};
    for (const auto& [flag, path] : passed_on) {
      if (!own && !path->empty()) words.insert(words.end(), {flag, *path});
    }
    if (!own && files.insecure) words.emplace_back("--insecure");
    std::vector<std::string> globs = flags.logs;
    globs.push_back(folder_ / "launcher.*");
    // torchrun's folders: run, attempt, local rank.
    std::string depth = Environment("PET_LOG_DIR");
    for (int i = 0; i < 4; ++i) globs.push_back(depth += "/*");
    for (const std::string& glob : globs) words.insert(words.end(), {"--log", glob});
    const auto agent = StartHelper(words);
    if (!agent.ok()) return agent.status();
    agent_ = *agent;
    return absl::OkStatus();
  }

  void Keep(bool err, std::string_view bytes) {
    // A full disk takes nothing from the job: it is told at the end, by what the logs lack.
    std::FILE*& file = files_[err ? 1 : 0];
    if (file == nullptr) file = std::fopen((folder_ / (err ? "launcher.err" : "launcher.out")).c_str(), "ae");
    if (file == nullptr) return;
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fflush(file);
  }

  // Everything it has read is with the coordinator then, or stays in the spool.
  void StopAgent() {
    for (std::FILE*& file : files_) {
      if (file != nullptr) std::fclose(file);
      file = nullptr;
    }
    if (agent_ > 0) EndHelper(agent_);
    agent_ = -1;
  }

  const CoordinatorPeer& peer() const { return peer_; }

 private:
  absl::Status MakeFolder(const std::string& keep) {
    std::string name = keep;
    if (keep.empty()) {
      name = fs::temp_directory_path() / "firstfault_run_XXXXXX";
      if (mkdtemp(name.data()) == nullptr) return absl::UnavailableError(Cat(name, ": ", std::strerror(errno)));
    } else if (std::error_code error; !fs::create_directories(name, error) && error) {
      return absl::UnavailableError(Cat(name, ": ", error.message()));
    }
    folder_ = fs::absolute(name);
    return absl::OkStatus();
  }

  absl::Status StartCoordinator() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(Cat("no pipe: ", std::strerror(errno)));
    const auto started = StartHelper({Cat(ProgramFolder(), "/firstfault-coordinator"), "--listen", "127.0.0.1:0", "--data-dir", folder_ / "recordings"}, ends[1]);
    close(ends[1]);
    std::string said;
    for (char byte; started.ok() && read(ends[0], &byte, 1) == 1 && byte != '\n';) said.push_back(byte);
    close(ends[0]);
    if (!started.ok()) return started.status();
    coordinator_ = *started;
    constexpr std::string_view kListening = "listening on ";
    if (!said.starts_with(kListening)) return absl::UnavailableError("the coordinator did not start");
    peer_.address = said.substr(kListening.size());
    return absl::OkStatus();
  }

  fs::path folder_;
  bool kept_ = false;
  CoordinatorPeer peer_;
  pid_t coordinator_ = -1, agent_ = -1;
  std::FILE* files_[2] = {nullptr, nullptr};
};

// The verdict goes to standard error: standard output is the launcher's.
int Tell(const RunFlags& flags, const CoordinatorPeer& peer, int code) {
  if (auto status = RecordJobEnd(peer, HostName(), flags.job, flags.attempt.value_or(0), code); !status.ok()) Complain(status);
  v1::WhyRequest request;
  request.set_job(flags.job);
  if (flags.attempt) request.set_attempt(*flags.attempt);
  request.set_wait("final");
  request.set_wait_ns(kFinalWithinNs);
  if (code == 0 && !flags.exit_verdict) return code;
  const auto reply = AskWhy(peer, request);
  if (!reply.ok()) {
    Complain(reply.status());
    return code;
  }
  const std::string text = Cat("\n", Render(reply->report(), {}));
  if (code != 0) std::fwrite(text.data(), 1, text.size(), stderr);
  return flags.exit_verdict ? ExitCodeOf(reply->report()) : code;
}

}  // namespace

int Run(const std::vector<std::string>& arguments) {
  RunFlags flags;
  CLI::App app("Run a job's launcher, unchanged, and say what failed first when it fails.", "firstfault run");
  app.footer("The command stands behind --: firstfault run [OPTIONS] -- COMMAND...");
  DeclareCoordinatorFlags(&app, &flags.coordinator, "Where one listens; else FIRSTFAULT_COORDINATOR, else one of our own");
  app.add_option("--job", flags.job, "Else FIRSTFAULT_JOB, else Slurm's, else a new name")->type_name("ID");
  app.add_option("--attempt", flags.attempt, "Which start of the job, from 0")->type_name("N");
  app.add_option("--log", flags.logs, "Logs that the job writes elsewhere (repeatable)")->type_name("GLOB")->allow_extra_args(false);
  app.add_option("--keep", flags.keep, "Keep output and recording in this folder")->type_name("DIR");
  app.add_flag("--exit-verdict", flags.exit_verdict, "Exit with the verdict's code instead of the launcher's");
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (const auto code = ParseArguments(&app, {arguments.begin(), dashes})) return *code;
  const std::vector<std::string> command(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  if (command.empty()) return Complain("no command; write: firstfault run -- COMMAND...", kExitUsage);
  if (flags.coordinator.address.empty()) flags.coordinator.address = Environment("FIRSTFAULT_COORDINATOR");
  NameJob(&flags);
  if (flags.coordinator.address.empty() && NodesOf(command) > 1) {
    Complain("the job has several nodes and no --coordinator: each node answers for itself", kExitOk);
  }

  // Nothing of ours may keep a job from running.
  Beside beside;
  const absl::Status started = beside.Start(flags);
  if (!started.ok()) Complain(Cat("there will be no verdict: ", std::string(started.message())), kExitOk);
  const auto code = RunThrough(command, [&](bool err, std::string_view bytes) {
    if (started.ok()) beside.Keep(err, bytes);
  });
  if (!code.ok()) return Complain(code.status());
  beside.StopAgent();
  return started.ok() ? Tell(flags, beside.peer(), *code) : *code;
}

}  // namespace firstfault
