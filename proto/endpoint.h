// endpoint.h: addresses at which we listen, and to which we talk.
//
// Why:     without encryption, logs, verdicts and tokens must not leave the machine by mistake.
// Threads: pure functions.
#ifndef FIRSTFAULT_PROTO_ENDPOINT_H_
#define FIRSTFAULT_PROTO_ENDPOINT_H_

#include <optional>
#include <string>
#include <string_view>

namespace firstfault {

// nullopt: HOST:PORT, of this machine's loopback unless `beyond_is_fine` (there is TLS, or the user insists). Else
// what is wrong, in a sentence that begins with the flag. A name other than localhost counts as beyond.
std::optional<std::string> WrongEndpoint(std::string_view flag, std::string_view address, bool beyond_is_fine);

// The address with another port.
std::string WithPort(const std::string& address, int port);

}  // namespace firstfault

#endif  // FIRSTFAULT_PROTO_ENDPOINT_H_
