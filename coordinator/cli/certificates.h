// certificates.h: a small authority for a cluster that has none, and what is wrong with a certificate.
//
// Model:   a folder: ca.{crt,key}; server.{crt,key} for the coordinator; agent-HOST.{crt,key} for each host;
//          client.{crt,key} for people; token.secret for the coordinator and whoever makes tokens. What is there stays
//          as it is, so the folder grows: the same authority signs for hosts that come later. Whoever has ca.key can be
//          anybody: it belongs on no other machine. A server's certificate does not pass for a client's, nor the other
//          way round.
// Errors:  InvalidArgument: no name for a host; Unavailable: the disk; FailedPrecondition: one file of a pair is missing.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_CLI_CERTIFICATES_H_
#define FIRSTFAULT_COORDINATOR_CLI_CERTIFICATES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace firstfault {

// The authority outlives the machines of a cluster. Others are made anew at the latest after two years: a stolen key
// must not be good for ever, and `firstfault doctor` says when the time is near.
inline constexpr int kAuthorityDays = 3650, kCertificateDays = 730;

struct MadeFile {
  std::string path;
  bool kept = false;  // it was there
};
// `servers`: names and addresses by which the coordinator is called; this machine's loopback is always among them.
absl::StatusOr<std::vector<MadeFile>> MakeCertificates(const std::string& folder, const std::vector<std::string>& servers,
                                                       const std::vector<std::string>& hosts);

struct CertificateFacts {
  int64_t seconds_left = 0;        // until it expires, or its authority; negative: since
  std::vector<std::string> names;  // hosts and addresses
};
// InvalidArgument: what keeps it from being used at `now_s` (since 1970), in a sentence.
absl::StatusOr<CertificateFacts> InspectCertificate(std::string_view cert_pem, std::string_view key_pem, std::string_view ca_pem, int64_t now_s);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_CERTIFICATES_H_
