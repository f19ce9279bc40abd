// grpc_caller.h: who calls over gRPC.
//
// Threads: pure function.
#ifndef FIRSTFAULT_COORDINATOR_GRPC_CALLER_H_
#define FIRSTFAULT_COORDINATOR_GRPC_CALLER_H_

#include <grpcpp/grpcpp.h>

#include "coordinator/access.h"

namespace firstfault {

Caller CallerOf(const grpc::ServerContextBase& context);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_GRPC_CALLER_H_
