// listen_address.h: where a coordinator may listen.
//
// Why:     without encryption, logs and verdicts must not leave the machine by mistake.
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_LISTEN_ADDRESS_H_
#define FIRSTFAULT_COORDINATOR_LISTEN_ADDRESS_H_

#include <optional>
#include <string>

namespace firstfault {

// nullopt: HOST:PORT with a host that is this machine's loopback. Else what is wrong, in a sentence.
std::optional<std::string> WrongListenAddress(const std::string& address);

// The address with another port.
std::string WithPort(const std::string& address, int port);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_LISTEN_ADDRESS_H_
