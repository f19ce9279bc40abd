#include "proto/credentials.h"

#include <grpc/support/log.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

namespace firstfault {
namespace {

// Where a handshake fails, gRPC says so in words of its own and of OpenSSL.
struct Failure {
  bool with_tls;  // on our side
  std::string_view says, remedy;
};
constexpr std::string_view kRefusedUs = "it refused our certificate: that must be by its authority, valid, and a client's";
constexpr std::string_view kWantsTls = "it may want TLS: give --tls-cert, --tls-key and --tls-ca";
constexpr Failure kFailures[] = {
    {true, "certificate verify failed", "its certificate is not by the authority of --tls-ca, or has expired"},
    {true, "Hostname Verification Check failed", "its certificate has another name: connect by one that it has, or make one with this name (firstfault doctor --make-certs)"},
    {true, "is not in peer certificate", "its certificate has another name: connect by one that it has, or make one with this name (firstfault doctor --make-certs)"},
    {true, "wrong version number", "it does without TLS: leave out --tls-cert, --tls-key and --tls-ca, or start it with them"},
    {true, "Socket closed", kRefusedUs},
    {true, "Connection reset", kRefusedUs},
    {true, "Broken pipe", kRefusedUs},
    {false, "Socket closed", kWantsTls},
    {false, "Connection reset", kWantsTls},
};

}  // namespace

void DeclareTlsFlags(CLI::App* app, CredentialFiles* files) {
  app->add_option("--tls-cert", files->cert, "Our certificate, PEM; with TLS both sides must show one")->type_name("FILE");
  app->add_option("--tls-key", files->key, "Its key, PEM")->type_name("FILE");
  app->add_option("--tls-ca", files->ca, "The authority that the other side's certificate must be by, PEM")->type_name("FILE");
  app->add_flag("--insecure", files->insecure, "Beyond this machine even without TLS");
}

void DeclareTokenFlag(CLI::App* app, CredentialFiles* files) {
  app->add_option("--token-file", files->token, "What allows us to write or ask; else FIRSTFAULT_TOKEN")->type_name("FILE");
}

absl::StatusOr<std::string> ReadCredentialFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kCredentialBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) return absl::InvalidArgumentError(path + ": cannot be read, or is empty");
  if (text.size() > kCredentialBytesMax) return absl::InvalidArgumentError(path + ": is too long for a certificate, key or token");
  return text;
}

absl::StatusOr<Credentials> LoadCredentials(const CredentialFiles& files) {
  if (files.cert.empty() != files.key.empty() || files.cert.empty() != files.ca.empty()) {
    return absl::InvalidArgumentError("--tls-cert, --tls-key and --tls-ca go together");
  }
  Credentials out;
  out.insecure = files.insecure;
  const std::pair<const std::string*, std::string*> wanted[] = {
      {&files.cert, &out.cert}, {&files.key, &out.key}, {&files.ca, &out.ca}, {&files.token, &out.token}};
  for (const auto& [path, text] : wanted) {
    if (path->empty()) continue;
    auto read = ReadCredentialFile(*path);
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  const char* named = std::getenv("FIRSTFAULT_TOKEN");
  if (out.token.empty() && named != nullptr) out.token = named;
  // gRPC ends the program where a header has other bytes.
  for (const char c : out.token) {
    if (c < ' ' || c > '~') return absl::InvalidArgumentError("the token has other characters than printable ASCII");
  }
  return out;
}

void QuietGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const Credentials& credentials) {
  if (!credentials.tls()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = credentials.ca;
  options.pem_key_cert_pairs.push_back({credentials.key, credentials.cert});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const Credentials& credentials) {
  if (!credentials.tls()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({credentials.ca, credentials.key, credentials.cert});
}

void ShowToken(const Credentials& credentials, grpc::ClientContext* context) {
  if (!credentials.token.empty()) context->AddMetadata("authorization", "Bearer " + credentials.token);
}

std::string ExplainedError(const grpc::Status& status, const Credentials& credentials) {
  std::string text = status.error_message();
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return text;
  for (const Failure& row : kFailures) {
    if (row.with_tls == credentials.tls() && text.find(row.says) != std::string::npos) return text.append("; ").append(row.remedy);
  }
  return text;
}

}  // namespace firstfault
