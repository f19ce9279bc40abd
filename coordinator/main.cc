// firstfault-coordinator: agents in, verdicts out.
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "coordinator/access.h"
#include "coordinator/answers.h"
#include "coordinator/group_commit.h"
#include "coordinator/http_server.h"
#include "coordinator/ingest_service.h"
#include "coordinator/metrics.h"
#include "coordinator/query_service.h"
#include "coordinator/questions.h"
#include "coordinator/recording.h"
#include "coordinator/refusals.h"
#include "coordinator/retention.h"
#include "coordinator/shown_text.h"
#include "coordinator/watcher.h"
#include "correlate/source_scanner.h"
#include "correlate/text.h"
#include "proto/credentials.h"
#include "proto/endpoint.h"

namespace firstfault {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int kExitUsage = 64, kExitUnavailable = 69;  // EX_USAGE, EX_UNAVAILABLE of sysexits.h
constexpr timespec kRetainEvery{60, 0};
// What is on its way to the disk is there long before; a question that waits is answered as it is.
constexpr auto kStopWithin = std::chrono::seconds(2);
// Bytes that gRPC may hold for all connections together: a thousand streams of 128 KiB batches, and as much again.
constexpr size_t kTransportBytesMax = 256 << 20;
// An agent has one; `run` and people one more at a time.
constexpr int kStreamsOfConnectionMax = 100;

int64_t WallNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int Complain(const std::string& text, int code) {
  std::fputs(Cat("firstfault-coordinator: ", text, "\n").c_str(), stderr);
  return code;
}

void Say(const std::string& line) {
  std::fputs(Cat(line, "\n").c_str(), stdout);
  std::fflush(stdout);
}

std::string RandomId() {
  char bytes[8] = {};
  std::FILE* file = std::fopen("/dev/urandom", "rb");
  if (file != nullptr) {
    if (std::fread(bytes, 1, sizeof(bytes), file) != sizeof(bytes)) bytes[0] = 0;
    std::fclose(file);
  }
  std::string out;
  for (const char byte : bytes) out += {"0123456789abcdef"[static_cast<uint8_t>(byte) >> 4], "0123456789abcdef"[byte & 15]};
  return out;
}

Refusals* handshakes = nullptr;

// A handshake that fails never reaches our code: what gRPC logs of it is all that there is. The rest of its log goes to
// standard error, as without us.
void CountHandshakes(Refusals* refusals) {
  handshakes = refusals;
  gpr_set_log_function([](gpr_log_func_args* line) {
    const std::string_view file(line->file), says(line->message);
    if (file.ends_with("ssl_transport_security.cc") && says.starts_with("Handshake failed")) {
      handshakes->Note(Counter::kRefusedHandshake, "", says);
    } else if (gpr_should_log(line->severity) != 0) {
      std::fputs(Cat("firstfault-coordinator: ", says, "\n").c_str(), stderr);
    }
  });
}

struct Settings {
  std::string listen, http, data_dir, token_secret;
  CredentialFiles credentials;
  int64_t stall_after_s = kStallAfterNs / kSecondNs;
  int64_t keep_days = kKeepDaysDefault;
  uint64_t keep_mib = 0;
};

void Retain(const Settings& settings, Recordings* recordings, Answers* answers) {
  const RetentionPolicy policy{settings.keep_days * 86'400 * kSecondNs, settings.keep_mib << 20};
  for (const JobKey& key : ToForget(recordings->Summaries(), policy, WallNs())) {
    const absl::Status status = recordings->Forget(key);
    answers->Forget(key);
    Say(Cat("job ", Printable(key.job), ": ", status.ok() ? "its recording was given up" : std::string(status.message())));
  }
}

int Serve(const Settings& settings, const Credentials& credentials, const Access& access) {
  // Before any thread starts: all of them inherit it.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  signal(SIGPIPE, SIG_IGN);  // nobody need listen to what we say
  signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write

  // Some files a recording, some a connection.
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  const auto recordings = Recordings::Open(settings.data_dir);
  if (!recordings.ok()) return Complain(std::string(recordings.status().message()), kExitUnavailable);
  Agents agents;
  static Counters counters;  // gRPC logs until the very end
  static Refusals refusals(&counters, WallNs, Say);
  CountHandshakes(&refusals);
  Answers answers(&BuiltInEngine(), recordings->get(), &agents, settings.stall_after_s * kSecondNs);
  GroupCommit commit(recordings->get());
  IngestService ingest(recordings->get(), &commit, &agents, &access, &refusals, WallNs, RandomId());
  Questions questions(&answers, &access, &refusals, WallNs);
  QueryService query(&questions);
  Watcher watcher(&answers, recordings->get(), &agents, WallNs, Say);

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(settings.listen, ServerCredentialsOf(credentials), &port);
  builder.RegisterService(&ingest);
  builder.RegisterService(&query);
  // Twice ours: what is a little too large is seen, counted and explained; the rest gRPC refuses unread.
  builder.SetMaxReceiveMessageSize(2 * kMessageBytesMax);
  grpc::ResourceQuota quota("firstfault");
  builder.SetResourceQuota(quota.Resize(kTransportBytesMax));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsOfConnectionMax);
  // With the probe, windows grow to megabytes a stream.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return Complain(Cat("cannot listen on ", settings.listen, credentials.tls() ? ": is the port free, and do --tls-cert and --tls-key belong together?" : ""), kExitUnavailable);
  Say(Cat("listening on ", WithPort(settings.listen, port)));
  std::unique_ptr<HttpServer> http;
  if (!settings.http.empty()) {
    auto started = HttpServer::Start(settings.http, settings.credentials, &questions, [&] { return MetricsText(counters, **recordings, agents); });
    if (!started.ok()) return Complain(std::string(started.status().message()), kExitUnavailable);
    http = *std::move(started);
    Say(Cat("HTTP on ", WithPort(settings.http, http->port())));
  }
  watcher.Start();

  do {
    Retain(settings, recordings->get(), &answers);
  } while (sigtimedwait(&stops, nullptr, &kRetainEvery) < 0);
  questions.Stop();
  http.reset();
  server->Shutdown(std::chrono::system_clock::now() + kStopWithin);
  server->Wait();
  return 0;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Collect what agents send, and say which rank of a job failed first.", "firstfault-coordinator");
  app.add_option("--listen", settings.listen, "Where agents and people connect; port 0: any")->type_name("HOST:PORT")->required();
  app.add_option("--http", settings.http, "Questions as JSON, /metrics and /healthz; port 0: any")->type_name("HOST:PORT");
  app.add_option("--data-dir", settings.data_dir, "Folder of the recordings")->type_name("DIR")->required();
  app.add_option("--stall-after", settings.stall_after_s, "A job that runs and says nothing for so long is stalled")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400));
  app.add_option("--keep-days", settings.keep_days, "Remove recordings to which nothing came for so long; 0: never")
      ->type_name("DAYS")->check(CLI::Range(0, 36'500))->capture_default_str();
  app.add_option("--keep-mib", settings.keep_mib, "Remove the oldest recordings beyond so many MiB, of jobs that are quiet; 0: any size")
      ->type_name("MIB")->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40));
  DeclareTlsFlags(&app, &settings.credentials);
  app.add_option("--token-secret", settings.token_secret, "Ask for tokens that are made with this file's secret (firstfault doctor --make-token)")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return Complain(Cat(error.what(), "\nSee firstfault-coordinator --help."), kExitUsage);
  }
  const auto credentials = LoadCredentials(settings.credentials);
  if (!credentials.ok()) return Complain(std::string(credentials.status().message()), kExitUsage);
  if (const auto wrong = WrongEndpoint("--listen", settings.listen, credentials->beyond_loopback())) return Complain(*wrong, kExitUsage);
  const auto wrong_http = settings.http.empty() ? std::nullopt : WrongEndpoint("--http", settings.http, credentials->beyond_loopback());
  if (wrong_http) return Complain(*wrong_http, kExitUsage);
  const auto secret = settings.token_secret.empty() ? absl::StatusOr<std::string>("") : ReadCredentialFile(settings.token_secret);
  const auto access = secret.ok() ? Access::Of(*secret) : secret.status();
  if (!access.ok()) return Complain(std::string(access.status().message()), kExitUsage);
  return Serve(settings, *credentials, *access);
}

}  // namespace
}  // namespace firstfault

int main(int argc, char** argv) { return firstfault::Main(argc, argv); }
