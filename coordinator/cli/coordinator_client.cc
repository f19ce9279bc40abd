#include "coordinator/cli/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>

#include "correlate/text.h"
#include "correlate/version.h"
#include "proto/endpoint.h"
#include "proto/ingest.grpc.pb.h"
#include "proto/query.grpc.pb.h"

namespace firstfault {
namespace {

// A coordinator waits 60 s at most unless asked for longer; the rest is for its replay of a large job.
constexpr auto kAnswerWithin = std::chrono::seconds(90);
// A sync of a busy disk.
constexpr auto kRecordedWithin = std::chrono::seconds(10);
// A report of thousands of ranks with their lines.
constexpr int kReplyBytesMax = 256 << 20;

std::shared_ptr<grpc::Channel> ChannelTo(const CoordinatorPeer& coordinator) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReplyBytesMax);
  return grpc::CreateCustomChannel(coordinator.address, ChannelCredentialsOf(coordinator.credentials), arguments);
}

absl::Status FromGrpc(const CoordinatorPeer& coordinator, const grpc::Status& status) {
  const std::string text = ExplainedError(status, coordinator.credentials);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::UnavailableError(Cat("no answer from the coordinator at ", coordinator.address, ": ", text));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), text);
}

template <typename Reply, typename Request>
absl::StatusOr<Reply> Ask(const CoordinatorPeer& coordinator, const Request& request,
                          grpc::Status (v1::Query::Stub::*call)(grpc::ClientContext*, const Request&, Reply*)) {
  const std::unique_ptr<v1::Query::Stub> stub = v1::Query::NewStub(ChannelTo(coordinator));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
  ShowToken(coordinator.credentials, &context);
  Reply reply;
  const grpc::Status status = (stub.get()->*call)(&context, request, &reply);
  if (!status.ok()) return FromGrpc(coordinator, status);
  return reply;
}

}  // namespace

void DeclareCoordinatorFlags(CLI::App* app, CoordinatorFlags* flags, const std::string& help) {
  app->add_option("--coordinator", flags->address, help)->type_name("HOST:PORT");
  DeclareTlsFlags(app, &flags->files);
  DeclareTokenFlag(app, &flags->files);
}

absl::StatusOr<CoordinatorPeer> FindCoordinator(const CoordinatorFlags& flags) {
  CoordinatorPeer out{flags.address, {}};
  const char* named = std::getenv("FIRSTFAULT_COORDINATOR");
  if (out.address.empty() && named != nullptr) out.address = named;
  if (out.address.empty()) return absl::InvalidArgumentError("no coordinator: give --coordinator HOST:PORT or set FIRSTFAULT_COORDINATOR");
  auto credentials = LoadCredentials(flags.files);
  if (!credentials.ok()) return credentials.status();
  if (const auto wrong = WrongEndpoint("--coordinator", out.address, credentials->beyond_loopback())) return absl::InvalidArgumentError(*wrong);
  out.credentials = *std::move(credentials);
  return out;
}

absl::StatusOr<v1::JobsReply> AskJobs(const CoordinatorPeer& coordinator, const v1::JobsRequest& request) {
  return Ask<v1::JobsReply>(coordinator, request, &v1::Query::Stub::Jobs);
}

absl::StatusOr<v1::WhyReply> AskWhy(const CoordinatorPeer& coordinator, const v1::WhyRequest& request) {
  return Ask<v1::WhyReply>(coordinator, request, &v1::Query::Stub::Why);
}

absl::StatusOr<v1::StatusReply> AskStatus(const CoordinatorPeer& coordinator) {
  return Ask<v1::StatusReply>(coordinator, v1::StatusRequest(), &v1::Query::Stub::Status);
}

absl::Status RecordJobEnd(const CoordinatorPeer& coordinator, const std::string& host, const std::string& job, uint32_t attempt,
                          int exit_code) {
  const auto stub = v1::Ingest::NewStub(ChannelTo(coordinator));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRecordedWithin);
  ShowToken(coordinator.credentials, &context);
  const auto stream = stub->Stream(&context);
  v1::AgentMessage hello, end;
  hello.mutable_hello()->set_host(host);
  // One batch of a spool of its own, by a name that nobody else can use up before.
  std::random_device random;
  hello.mutable_hello()->set_spool_id(Cat("end ", random(), " ", random(), " ", random(), " ", random()));
  hello.mutable_hello()->set_version(kVersion);
  end.mutable_batch()->set_sequence(1);
  end.mutable_batch()->set_job(job);
  end.mutable_batch()->set_attempt(attempt);
  end.mutable_batch()->add_record()->mutable_job_closed()->set_exit_code(exit_code);
  stream->Write(hello);
  stream->Write(end);
  stream->WritesDone();
  bool durable = false;
  for (v1::CoordinatorMessage reply; stream->Read(&reply);) durable |= reply.ack().sequence() == 1 && reply.ack().refused() == 0;
  const grpc::Status status = stream->Finish();
  if (status.ok() && durable) return absl::OkStatus();
  return absl::Status(status.ok() ? absl::StatusCode::kUnavailable : static_cast<absl::StatusCode>(status.error_code()),
                      Cat("the coordinator at ", coordinator.address, " did not record the end of the job: ", ExplainedError(status, coordinator.credentials)));
}

}  // namespace firstfault
