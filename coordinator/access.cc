#include "coordinator/access.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "coordinator/escape.h"
#include "coordinator/recording.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr std::string_view kJobScope = "job:", kWholeScopes[] = {"write", "read"};
constexpr std::string_view kMakeOne = "firstfault doctor --make-token SCOPE --token-secret FILE makes one, where FILE is the coordinator's";
// What the digest is of, so that a secret which also serves elsewhere gives no token away.
constexpr std::string_view kPurpose = "firstfault token 1 ";

std::string Digest(std::string_view secret, std::string_view text) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const uint8_t*>(text.data()), text.size(),
       bytes.data(), &size);
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15]};
  return out;
}

std::string Sealed(std::string_view secret, std::string_view escaped_scope) {
  return Cat(escaped_scope, ".", Digest(secret, Cat(kPurpose, escaped_scope)));
}

}  // namespace

std::optional<std::string> TokenFor(std::string_view secret, std::string_view scope) {
  if (scope.starts_with(kJobScope)) {
    const std::string_view job = scope.substr(kJobScope.size());
    if (job.empty() || job.size() > kJobNameBytesMax) return std::nullopt;
    return Sealed(secret, Cat(kJobScope, Escaped(job)));
  }
  if (std::find(std::begin(kWholeScopes), std::end(kWholeScopes), scope) == std::end(kWholeScopes)) return std::nullopt;
  return Sealed(secret, scope);
}

absl::Status Grant::MayBe(std::string_view host) const {
  if (!names_ || std::find(names_->begin(), names_->end(), host) != names_->end()) return absl::OkStatus();
  std::string has;
  for (const std::string& name : *names_) has += Cat(has.empty() ? "" : ", ", name);
  return absl::PermissionDeniedError(Cat("this agent says it is host ", host, ", its certificate is for ", has.empty() ? "no host" : has,
                                         "; start it with --host as in the certificate, or make one for this host (firstfault doctor "
                                         "--make-certs DIR --host ", host, ")"));
}

absl::Status Grant::May(std::string_view kind, std::string_view job) const {
  if (!scope_ || *scope_ == kind || (!job.empty() && *scope_ == Cat(kJobScope, job))) return absl::OkStatus();
  return absl::PermissionDeniedError(Cat("this token is for ", *scope_, " and not for ", job.empty() ? "all jobs" : Cat("job ", job), "; ",
                                         job.empty() ? "name the job, or show a token of scope read" : kMakeOne));
}

absl::StatusOr<Access> Access::Of(std::string secret) {
  if (!secret.empty() && secret.size() < kSecretBytesMin) {
    return absl::InvalidArgumentError(Cat("the secret has fewer than ", kSecretBytesMin, " bytes; firstfault doctor --make-certs makes one"));
  }
  return Access(std::move(secret));
}

absl::StatusOr<Grant> Access::Admit(const Caller& caller) const {
  Grant grant;
  grant.names_ = caller.names;
  if (secret_.empty()) return grant;
  if (caller.token.empty()) {
    return absl::UnauthenticatedError(Cat("this coordinator asks for a token: give --token-file FILE or set FIRSTFAULT_TOKEN; ", kMakeOne));
  }
  const std::string_view escaped_scope = std::string_view(caller.token).substr(0, caller.token.rfind('.'));
  const std::string right = Sealed(secret_, escaped_scope);
  const bool is_right = right.size() == caller.token.size() && CRYPTO_memcmp(right.data(), caller.token.data(), right.size()) == 0;
  const auto job = escaped_scope.starts_with(kJobScope) ? Unescaped(escaped_scope.substr(kJobScope.size())) : std::nullopt;
  grant.scope_ = job ? Cat(kJobScope, *job) : std::string(escaped_scope);
  if (!is_right || TokenFor(secret_, *grant.scope_) != caller.token) {
    return absl::UnauthenticatedError(Cat("the token was not made with this coordinator's secret; ", kMakeOne));
  }
  return grant;
}

}  // namespace firstfault
