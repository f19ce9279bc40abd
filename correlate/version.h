// version.h: the release that wrote a report.
#ifndef FIRSTFAULT_CORRELATE_VERSION_H_
#define FIRSTFAULT_CORRELATE_VERSION_H_

namespace firstfault {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_VERSION_H_
