#include "coordinator/query_service.h"

#include <utility>

#include "coordinator/grpc_caller.h"
#include "coordinator/grpc_status.h"

namespace firstfault {
namespace {

template <typename Reply>
auto FinishWith(grpc::ServerUnaryReactor* reactor, Reply* reply) {
  return [reactor, reply](absl::StatusOr<Reply> answer) {
    if (answer.ok()) *reply = *std::move(answer);
    reactor->Finish(ToGrpc(answer.status()));
  };
}

}  // namespace

grpc::ServerUnaryReactor* QueryService::Jobs(grpc::CallbackServerContext* context, const v1::JobsRequest* request,
                                             v1::JobsReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  questions_->Jobs(CallerOf(*context), *request, FinishWith(reactor, reply));
  return reactor;
}

grpc::ServerUnaryReactor* QueryService::Why(grpc::CallbackServerContext* context, const v1::WhyRequest* request,
                                            v1::WhyReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  questions_->Why(CallerOf(*context), *request, [context] { return context->IsCancelled(); }, FinishWith(reactor, reply));
  return reactor;
}

grpc::ServerUnaryReactor* QueryService::Status(grpc::CallbackServerContext* context, const v1::StatusRequest*, v1::StatusReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  FinishWith(reactor, reply)(questions_->Status(CallerOf(*context)));
  return reactor;
}

}  // namespace firstfault
