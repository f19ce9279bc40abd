#include "proto/endpoint.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>

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

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<std::string> WrongEndpoint(std::string_view flag, std::string_view address, bool beyond_is_fine) {
  const std::string named = std::string(flag) + ": " + std::string(address);
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || !IsPort(address.substr(colon + 1))) return named + " is not HOST:PORT";
  if (beyond_is_fine || IsLoopback(std::string(address.substr(0, colon)))) return std::nullopt;
  return named +
         " is beyond this machine, and nothing would be encrypted; give --tls-cert, --tls-key and --tls-ca "
         "(firstfault doctor --make-certs makes them), or --insecure";
}

std::string WithPort(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

}  // namespace firstfault
