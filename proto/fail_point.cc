#include "proto/fail_point.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

namespace firstfault {
namespace {

struct Armed {
  std::string name;  // empty: none
  int pass = 0;
};

Armed FromEnvironment() {
  const char* value = std::getenv("FIRSTFAULT_FAIL_POINT");
  if (value == nullptr) return {};
  const std::string_view text = value;
  const size_t colon = text.rfind(':');
  Armed armed;
  armed.name = text.substr(0, colon);
  if (colon != std::string_view::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), armed.pass);
  if (armed.pass >= 1 && std::find(std::begin(kFailPoints), std::end(kFailPoints), armed.name) != std::end(kFailPoints)) return armed;
  std::fprintf(stderr, "FIRSTFAULT_FAIL_POINT: %s is no NAME:N of a fail point\n", value);
  std::exit(64);
}

}  // namespace

void FailPoint(std::string_view name) {
  static const Armed armed = FromEnvironment();
  if (armed.name != name) return;
  static std::atomic<int> passes = 0;
  if (++passes == armed.pass) std::raise(SIGKILL);
}

}  // namespace firstfault
