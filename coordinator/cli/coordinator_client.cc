#include "coordinator/cli/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "correlate/text.h"
#include "correlate/version.h"
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

template <typename Reply, typename Request>
absl::StatusOr<Reply> Ask(const std::string& coordinator, const Request& request,
                          grpc::Status (v1::Query::Stub::*call)(grpc::ClientContext*, const Request&, Reply*)) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReplyBytesMax);
  const auto channel = grpc::CreateCustomChannel(coordinator, grpc::InsecureChannelCredentials(), arguments);
  const std::unique_ptr<v1::Query::Stub> stub = v1::Query::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
  Reply reply;
  const grpc::Status status = (stub.get()->*call)(&context, request, &reply);
  if (status.ok()) return reply;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::UnavailableError(Cat("no answer from the coordinator at ", coordinator, ": ", status.error_message()));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

absl::StatusOr<std::string> CoordinatorAddress(const std::string& flag) {
  if (!flag.empty()) return flag;
  const char* named = std::getenv("FIRSTFAULT_COORDINATOR");
  if (named != nullptr && *named != '\0') return std::string(named);
  return absl::InvalidArgumentError("no coordinator: give --coordinator HOST:PORT or set FIRSTFAULT_COORDINATOR");
}

absl::StatusOr<v1::JobsReply> AskJobs(const std::string& coordinator, const v1::JobsRequest& request) {
  return Ask<v1::JobsReply>(coordinator, request, &v1::Query::Stub::Jobs);
}

absl::StatusOr<v1::WhyReply> AskWhy(const std::string& coordinator, const v1::WhyRequest& request) {
  return Ask<v1::WhyReply>(coordinator, request, &v1::Query::Stub::Why);
}

absl::Status RecordJobEnd(const std::string& coordinator, const std::string& host, const std::string& job, uint32_t attempt,
                          int exit_code) {
  const auto stub = v1::Ingest::NewStub(grpc::CreateChannel(coordinator, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRecordedWithin);
  const auto stream = stub->Stream(&context);
  v1::AgentMessage hello, end;
  hello.mutable_hello()->set_host(host);
  // One batch of a spool of its own, however often it is told.
  hello.mutable_hello()->set_spool_id(Cat("end of ", job, " ", attempt, " on ", host));
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
  return absl::UnavailableError(Cat("the coordinator at ", coordinator, " did not record the end of the job: ", status.error_message()));
}

}  // namespace firstfault
