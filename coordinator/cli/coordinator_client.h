// coordinator_client.h: what the command asks, or tells, a coordinator.
//
// Errors:  Unavailable: no coordinator answers there; PermissionDenied, Unauthenticated: it does not let us; else what
//          the coordinator says.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_CLI_COORDINATOR_CLIENT_H_
#define FIRSTFAULT_COORDINATOR_CLI_COORDINATOR_CLIENT_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/credentials.h"
#include "proto/query.pb.h"

namespace firstfault {

// As the flags have it.
struct CoordinatorFlags {
  std::string address;
  CredentialFiles files;
};
void DeclareCoordinatorFlags(CLI::App* app, CoordinatorFlags* flags, const std::string& help = "Where it listens; else FIRSTFAULT_COORDINATOR");

struct CoordinatorPeer {
  std::string address;
  Credentials credentials;
};
// The value of --coordinator where there is one, else FIRSTFAULT_COORDINATOR. InvalidArgument: neither; a plain
// connection beyond this machine; credentials that cannot be read.
absl::StatusOr<CoordinatorPeer> FindCoordinator(const CoordinatorFlags& flags);

absl::StatusOr<v1::JobsReply> AskJobs(const CoordinatorPeer& coordinator, const v1::JobsRequest& request);
absl::StatusOr<v1::WhyReply> AskWhy(const CoordinatorPeer& coordinator, const v1::WhyRequest& request);
absl::StatusOr<v1::StatusReply> AskStatus(const CoordinatorPeer& coordinator);

// Records that the launcher of this job, on this host, has ended. Durable when OK.
absl::Status RecordJobEnd(const CoordinatorPeer& coordinator, const std::string& host, const std::string& job, uint32_t attempt,
                          int exit_code);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_COORDINATOR_CLIENT_H_
