// firstfault-agent: reads a job's logs on its host and ships what decides an incident.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "agent/agent.h"
#include "agent/grpc_stream.h"
#include "correlate/text.h"
#include "correlate/version.h"
#include "proto/credentials.h"
#include "proto/endpoint.h"

namespace firstfault::agent {
namespace {

// As those of the firstfault command (design, section 3.2).
constexpr int kExitOk = 0, kExitUsage = 64, kExitNoInput = 66, kExitUnreachable = 69, kExitBug = 70, kExitNoPermission = 77;
// Logs are looked at so often; a verdict within two seconds leaves room for no more.
constexpr int kPollMs = 200;
// While batches are being gathered.
constexpr int kGatherMs = 20;
// The last batches must be acknowledged within this, at the end of --once and on SIGTERM: a service manager
// kills after ten seconds and more.
constexpr int64_t kOnceEndNs = 60'000'000'000, kTermEndNs = 5'000'000'000;

int wake_fd = -1;
volatile std::sig_atomic_t stop = 0;

void Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd, &one, sizeof one);
}

int64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

Moment Now() { return {ReadClock(CLOCK_REALTIME), ReadClock(CLOCK_MONOTONIC_RAW)}; }

void WaitForWake(int milliseconds) {
  pollfd waiting{wake_fd, POLLIN, 0};
  if (poll(&waiting, 1, milliseconds) <= 0) return;
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(wake_fd, &count, sizeof count);
}

std::string BootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// One open file a source.
void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

struct Settings {
  std::string coordinator, spool_folder, host = HostName();
  CredentialFiles credentials;
  AgentOptions agent;
  bool once = false;
};

int Run(const Settings& settings, const Credentials& credentials) {
  auto spool = Spool::Open(settings.spool_folder);
  if (!spool.ok()) {
    std::fprintf(stderr, "firstfault-agent: the spool cannot be opened: %s\n", std::string(spool.status().message()).c_str());
    return kExitNoInput;
  }
  if ((*spool)->lost() > 0) std::fprintf(stderr, "firstfault-agent: the spool was damaged; what could be read of it is sent\n");
  GrpcStream stream(settings.coordinator, credentials, Wake);
  v1::Hello hello;
  hello.set_host(settings.host);
  hello.set_boot_id(BootId());
  hello.set_spool_id((*spool)->id());
  hello.set_version(kVersion);
  Uplink uplink(std::move(hello), **spool, stream, std::random_device()());
  Agent agent(BuiltInEngine(), settings.agent, **spool);

  std::string complaint;
  bool refused = false;  // by the last stream
  const auto exchange = [&] {
    stream.Receive([&](const v1::CoordinatorMessage& message) { uplink.OnMessage(Now(), message); },
                   [&](const std::string& why, bool refused_now) {
                     refused = refused_now;
                     if (why != complaint) std::fprintf(stderr, "firstfault-agent: %s: %s\n", settings.coordinator.c_str(), why.c_str());
                     complaint = why;
                     uplink.OnEnd(Now());
                   });
    uplink.Tick(Now());
  };
  while (stop == 0) {
    const bool more = agent.Poll(Now());
    if (uplink.TakeTailsWanted()) agent.Tails(Now());
    exchange();
    if (settings.once && !more) break;
    // Where reading waits for the spool, so does the loop.
    if (!more || (*spool)->crowded()) WaitForWake((*spool)->empty() ? kPollMs : kGatherMs);
  }
  const int64_t deadline = Now().monotonic_ns + (stop != 0 ? kTermEndNs : kOnceEndNs);
  // A job's last words stand in its logs when its hosts are told to stop.
  agent.LookForFiles();
  while (agent.Poll(Now()) && Now().monotonic_ns < deadline) {
    exchange();
    if ((*spool)->crowded()) WaitForWake(kGatherMs);
  }
  agent.Close(Now(), stop != 0 ? "the agent was stopped" : "read to its end");
  while (!(*spool)->all_acknowledged() && !(settings.once && refused) && Now().monotonic_ns < deadline) {
    exchange();
    WaitForWake(kGatherMs);
  }
  if ((*spool)->all_acknowledged()) return kExitOk;
  std::fprintf(stderr, "firstfault-agent: %s has not acknowledged everything; the rest stays in %s\n",
               settings.coordinator.c_str(), settings.spool_folder.c_str());
  if (!settings.once) return kExitOk;
  return refused ? kExitNoPermission : kExitUnreachable;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Reads a job's logs on its host and ships what decides an incident to the coordinator.", "firstfault-agent");
  app.add_option("--coordinator", settings.coordinator, "where the coordinator listens")->required()->type_name("HOST:PORT");
  app.add_option("--spool-dir", settings.spool_folder, "what is not acknowledged yet is kept here")->required()->type_name("DIR");
  app.add_option("--job", settings.agent.job, "the job that writes the logs")->required()->type_name("ID");
  app.add_option("--attempt", settings.agent.attempt, "which start of it, from 0")->type_name("N");
  app.add_option("--log", settings.agent.globs, "logs to follow; may be given again")->required()->type_name("GLOB")
      ->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--root", settings.agent.root, "where this host's files are mounted, where that is not /")->type_name("DIR");
  app.add_option("--host", settings.host, "name of this host, where it is not the system's")->type_name("NAME");
  app.add_option("--ship", settings.agent.ship, "what decides an incident, or every byte (matches, all)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Ship>{{"matches", Ship::kMatches}, {"all", Ship::kAll}}));
  DeclareTlsFlags(&app, &settings.credentials);
  DeclareTokenFlag(&app, &settings.credentials);
  app.add_flag("--once", settings.once, "read to the end, ship, wait for the acknowledgement and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "firstfault-agent: %s\nSee firstfault-agent --help.\n", error.what());
    return kExitUsage;
  }
  const auto credentials = LoadCredentials(settings.credentials);
  const auto wrong = !credentials.ok() ? std::string(credentials.status().message())
                                       : WrongEndpoint("--coordinator", settings.coordinator, credentials->beyond_loopback()).value_or("");
  if (!wrong.empty()) {
    std::fprintf(stderr, "firstfault-agent: %s\n", wrong.c_str());
    return kExitUsage;
  }
  settings.agent.patient = settings.once;
  while (settings.agent.root.ends_with('/')) settings.agent.root.pop_back();
  QuietGrpc();
  wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sigset_t stops;
  sigemptyset(&stops);
  std::signal(SIGPIPE, SIG_IGN);  // nobody need listen to what we say
  for (const int signal : {SIGTERM, SIGINT}) {
    sigaddset(&stops, signal);
    std::signal(signal, [](int) {
      stop = 1;
      Wake();
    });
  }
  sigprocmask(SIG_UNBLOCK, &stops, nullptr);  // whoever starts us may hold them back until here
  RaiseFileLimit();
  return Run(settings, *credentials);
}

}  // namespace
}  // namespace firstfault::agent

int main(int argc, char** argv) {
  std::signal(SIGABRT, [](int) { _exit(firstfault::agent::kExitBug); });
  return firstfault::agent::Main(argc, argv);
}
