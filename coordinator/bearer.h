// bearer.h: the header that carries a token, over gRPC and HTTP alike.
//
// Threads: pure function.
#ifndef FIRSTFAULT_COORDINATOR_BEARER_H_
#define FIRSTFAULT_COORDINATOR_BEARER_H_

#include <string>
#include <string_view>

namespace firstfault {

// Empty: it has none.
inline std::string BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  return authorization.starts_with(kScheme) ? std::string(authorization.substr(kScheme.size())) : "";
}

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_BEARER_H_
