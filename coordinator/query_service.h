// query_service.h: questions over gRPC.
//
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_QUERY_SERVICE_H_
#define FIRSTFAULT_COORDINATOR_QUERY_SERVICE_H_

#include "coordinator/questions.h"
#include "proto/query.grpc.pb.h"

namespace firstfault {

class QueryService final : public v1::Query::CallbackService {
 public:
  // `questions` must outlive the service.
  explicit QueryService(Questions* questions) : questions_(questions) {}

  grpc::ServerUnaryReactor* Jobs(grpc::CallbackServerContext* context, const v1::JobsRequest* request, v1::JobsReply* reply) override;
  grpc::ServerUnaryReactor* Why(grpc::CallbackServerContext* context, const v1::WhyRequest* request, v1::WhyReply* reply) override;
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const v1::StatusRequest* request, v1::StatusReply* reply) override;

 private:
  Questions* const questions_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_QUERY_SERVICE_H_
