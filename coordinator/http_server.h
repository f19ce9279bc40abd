// http_server.h: questions as JSON over HTTP, metrics and health, for what does not speak gRPC.
//
// Model:   GET /v1/jobs and /v1/why answer as the query service of proto/query.proto does: each field of the request is
//          a parameter (/v1/why?job=88211&wait=final), the reply is the message in protobuf's JSON mapping with proto
//          field names. /metrics is for Prometheus, /healthz says "ok" to everybody. Tokens as over gRPC, in the header
//          "Authorization: Bearer TOKEN"; with TLS the caller shows a certificate here too.
// Errors:  {"error": "..."} with 400, 401, 403, 404, 413, 429 or 500.
// Limits:  kHttpThreads requests at a time, of which half may wait for a job, for kHttpWaitMaxNs; kHttpQueueMax more
//          connections wait their turn, the rest in the kernel's backlog. A body of kHttpBodyBytesMax, an address and a
//          header line of 8 KiB.
// Threads: own threads; all methods from one thread.
#ifndef FIRSTFAULT_COORDINATOR_HTTP_SERVER_H_
#define FIRSTFAULT_COORDINATOR_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/questions.h"
#include "proto/credentials.h"

namespace firstfault {

inline constexpr size_t kHttpThreads = 8, kHttpQueueMax = 64, kHttpBodyBytesMax = 4096;
inline constexpr int64_t kHttpWaitMaxNs = 60'000'000'000;

class HttpServer {
 public:
  // Listens when OK. `files`: TLS, where they name a certificate. `metrics`: the text of /metrics. All must outlive the
  // server. Unavailable: the address cannot be listened at, or the certificate is no good.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address, const CredentialFiles& files, Questions* questions,
                                                           std::function<std::string()> metrics);
  // Questions must have been told to stop.
  ~HttpServer();

  int port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_HTTP_SERVER_H_
