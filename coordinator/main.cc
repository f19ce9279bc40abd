// firstfault-coordinator: agents in, verdicts out.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "coordinator/answers.h"
#include "coordinator/group_commit.h"
#include "coordinator/ingest_service.h"
#include "coordinator/listen_address.h"
#include "coordinator/query_service.h"
#include "coordinator/recording.h"
#include "coordinator/watcher.h"
#include "correlate/source_scanner.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int kExitUsage = 64, kExitUnavailable = 69;  // EX_USAGE, EX_UNAVAILABLE of sysexits.h
// What is on its way to the disk is there long before; a question that waits is answered as it is.
constexpr auto kStopWithin = std::chrono::seconds(2);

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

int Serve(const std::string& listen, const std::string& data_dir, int64_t stall_after_ns) {
  // Before any thread starts: all of them inherit it.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  signal(SIGPIPE, SIG_IGN);  // nobody need listen to what we say
  signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write

  const auto recordings = Recordings::Open(data_dir);
  if (!recordings.ok()) return Complain(std::string(recordings.status().message()), kExitUnavailable);
  Agents agents;
  Answers answers(&BuiltInEngine(), recordings->get(), &agents, stall_after_ns);
  GroupCommit commit(recordings->get());
  IngestService ingest(recordings->get(), &commit, &agents, WallNs, RandomId());
  QueryService query(&answers, WallNs);
  Watcher watcher(&answers, recordings->get(), &agents, WallNs, Say);

  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&ingest);
  builder.RegisterService(&query);
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  // With the probe, windows grow to megabytes a stream.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return Complain(Cat("cannot listen on ", listen), kExitUnavailable);
  Say(Cat("listening on ", WithPort(listen, port)));
  watcher.Start();

  int signal_number = 0;
  sigwait(&stops, &signal_number);
  query.Stop();
  server->Shutdown(std::chrono::system_clock::now() + kStopWithin);
  server->Wait();
  return 0;
}

int Main(int argc, char** argv) {
  std::string listen, data_dir;
  CLI::App app("Collect what agents send, and say which rank of a job failed first.", "firstfault-coordinator");
  app.add_option("--listen", listen, "Where agents and people connect; port 0: any")->type_name("HOST:PORT")->required();
  app.add_option("--data-dir", data_dir, "Folder of the recordings")->type_name("DIR")->required();
  int64_t stall_after_s = kStallAfterNs / kSecondNs;
  app.add_option("--stall-after", stall_after_s, "A job that runs and says nothing for so long is stalled")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return Complain(Cat(error.what(), "\nSee firstfault-coordinator --help."), kExitUsage);
  }
  if (const auto wrong = WrongListenAddress(listen)) return Complain(*wrong, kExitUsage);
  return Serve(listen, data_dir, stall_after_s * kSecondNs);
}

}  // namespace
}  // namespace firstfault

int main(int argc, char** argv) { return firstfault::Main(argc, argv); }
