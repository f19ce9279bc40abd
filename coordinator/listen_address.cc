#include "coordinator/listen_address.h"

#include <arpa/inet.h>

#include <string_view>

#include "correlate/text.h"

namespace firstfault {
namespace {

bool IsLoopback(std::string host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

}  // namespace

std::optional<std::string> WrongListenAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || !ParseNumber<uint16_t>(std::string_view(address).substr(colon + 1))) {
    return Cat("--listen: '", address, "' is not HOST:PORT");
  }
  if (IsLoopback(address.substr(0, colon))) return std::nullopt;
  return Cat("--listen: ", address, " is beyond this machine, and nothing would be encrypted; listen on 127.0.0.1");
}

std::string WithPort(const std::string& address, int port) { return Cat(address.substr(0, address.rfind(':') + 1), port); }

}  // namespace firstfault
