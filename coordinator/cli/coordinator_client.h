// coordinator_client.h: what the command asks, or tells, a coordinator.
//
// Errors:  Unavailable: no coordinator answers there; else what the coordinator says.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_CLI_COORDINATOR_CLIENT_H_
#define FIRSTFAULT_COORDINATOR_CLI_COORDINATOR_CLIENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/query.pb.h"

namespace firstfault {

// The value of --coordinator where there is one, else FIRSTFAULT_COORDINATOR. InvalidArgument: neither.
absl::StatusOr<std::string> CoordinatorAddress(const std::string& flag);

absl::StatusOr<v1::JobsReply> AskJobs(const std::string& coordinator, const v1::JobsRequest& request);
absl::StatusOr<v1::WhyReply> AskWhy(const std::string& coordinator, const v1::WhyRequest& request);

// Records that the launcher of this job, on this host, has ended. Durable when OK.
absl::Status RecordJobEnd(const std::string& coordinator, const std::string& host, const std::string& job, uint32_t attempt,
                          int exit_code);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_COORDINATOR_CLIENT_H_
