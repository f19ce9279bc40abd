// credentials.h: what a program shows to the other side, and whom it trusts: TLS and tokens.
//
// Model:   TLS is mutual or not there: both sides show a certificate of the same authority. A token says which jobs
//          a caller may write or ask about (coordinator/access.h); it goes with each call as "authorization: Bearer".
// Errors:  InvalidArgument: flags that do not go together, a file that cannot be read, a beyond-loopback address
//          without TLS. Whether certificate and key are any good shows when they are used.
// Threads: pure functions, but for the files and the environment.
#ifndef FIRSTFAULT_PROTO_CREDENTIALS_H_
#define FIRSTFAULT_PROTO_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace firstfault {

// A token or secret is one line; a chain of certificates is some kilobytes.
inline constexpr size_t kCredentialBytesMax = 1 << 20;

// As the flags have it.
struct CredentialFiles {
  std::string cert, key, ca;  // PEM
  std::string token;
  bool insecure = false;
};

struct Credentials {
  std::string cert, key, ca;  // PEM; empty: no TLS
  std::string token;          // empty: none
  bool insecure = false;
  bool tls() const { return !cert.empty(); }
  bool beyond_loopback() const { return tls() || insecure; }
};

void DeclareTlsFlags(CLI::App* app, CredentialFiles* files);
// For programs that call: --token-file.
void DeclareTokenFlag(CLI::App* app, CredentialFiles* files);

// The file without the line break at its end.
absl::StatusOr<std::string> ReadCredentialFile(const std::string& path);
// The token is that of the file, else that of FIRSTFAULT_TOKEN.
absl::StatusOr<Credentials> LoadCredentials(const CredentialFiles& files);

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const Credentials& credentials);
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const Credentials& credentials);
// For one call.
void ShowToken(const Credentials& credentials, grpc::ClientContext* context);

// gRPC's own log says again what its status says. GRPC_VERBOSITY brings it back.
void QuietGrpc();
// What gRPC says of a connection that did not come about, and what to do where TLS is why.
std::string ExplainedError(const grpc::Status& status, const Credentials& credentials);

}  // namespace firstfault

#endif  // FIRSTFAULT_PROTO_CREDENTIALS_H_
