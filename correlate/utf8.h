// utf8.h: bytes of logs as text that may be shown.
//
// Why:     protobuf strings and terminals need UTF-8; log bytes need not be. Nothing is dropped silently: bad
//          bytes become U+FFFD and the caller is told.
// Threads: pure functions.
#ifndef FIRSTFAULT_CORRELATE_UTF8_H_
#define FIRSTFAULT_CORRELATE_UTF8_H_

#include <string>
#include <string_view>

namespace firstfault {

// `lossy` may be null; set to whether bytes were replaced.
std::string ToUtf8(std::string_view bytes, bool* lossy);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_UTF8_H_
