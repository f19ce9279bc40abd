#include "coordinator/cli/coordinator_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "correlate/text.h"
#include "proto/query.grpc.pb.h"

namespace firstfault {
namespace {

// A coordinator waits 60 s at most unless asked for longer; the rest is for its replay of a large job.
constexpr auto kAnswerWithin = std::chrono::seconds(90);
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

}  // namespace firstfault
