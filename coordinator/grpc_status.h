// grpc_status.h: our errors in gRPC's words. Both have the same codes.
//
// Threads: pure function.
#ifndef FIRSTFAULT_COORDINATOR_GRPC_STATUS_H_
#define FIRSTFAULT_COORDINATOR_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace firstfault {

inline grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_GRPC_STATUS_H_
