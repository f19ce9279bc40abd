// access.h: who may write and ask about which job.
//
// Why:     an agent of one job must not be able to write into another, nor as another host.
// Model:   the coordinator keeps one secret. A token is a scope and HMAC-SHA256(secret, scope): whoever has the secret
//          (a scheduler's prolog) makes a job's token without asking anybody, and nothing is stored. Tokens do not
//          expire; another secret makes all of them void. Where there is no secret, no token is asked for. Which host
//          an agent is stands in its certificate, where there is TLS.
// Scopes:  "job:ID" (write to this job and ask about it), "write" (agents of all jobs), "read" (questions about all).
// Errors:  Unauthenticated: no token, or a wrong one; PermissionDenied: one for something else. The message tells
//          the remedy.
// Threads: immutable.
#ifndef FIRSTFAULT_COORDINATOR_ACCESS_H_
#define FIRSTFAULT_COORDINATOR_ACCESS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace firstfault {

// As a digest of 256 bits has it: fewer can be guessed, and no more are of use.
inline constexpr size_t kSecretBytesMin = 32;

// nullopt: no such scope.
std::optional<std::string> TokenFor(std::string_view secret, std::string_view scope);

// Who calls, as the transport knows it.
struct Caller {
  std::optional<std::vector<std::string>> names;  // those of its certificate; nullopt: there is no TLS
  std::string token;
  std::string address;  // for people
};

// What a caller may do.
class Grant {
 public:
  Grant() = default;  // everything

  absl::Status MayBe(std::string_view host) const;
  absl::Status MayWrite(std::string_view job) const { return May("write", job); }
  // An empty job: any.
  absl::Status MayAsk(std::string_view job) const { return May("read", job); }

 private:
  friend class Access;
  absl::Status May(std::string_view kind, std::string_view job) const;

  std::optional<std::vector<std::string>> names_;
  std::optional<std::string> scope_;  // with the job's name as it is, "job:a/b"; nullopt: no token was asked for
};

class Access {
 public:
  // Empty: no tokens. InvalidArgument: shorter than kSecretBytesMin.
  static absl::StatusOr<Access> Of(std::string secret);
  absl::StatusOr<Grant> Admit(const Caller& caller) const;

 private:
  explicit Access(std::string secret) : secret_(std::move(secret)) {}
  std::string secret_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_ACCESS_H_
