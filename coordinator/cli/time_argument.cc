#include "coordinator/cli/time_argument.h"

#include "absl/time/time.h"
#include "correlate/text.h"

namespace firstfault {

std::optional<int64_t> ParseTimeArgument(const std::string& text) {
  // absl takes "infinite-future" and blanks around a time for one.
  if (text.empty() || !IsDigit(text.front()) || text.back() == ' ') return std::nullopt;
  constexpr const char* kDays[] = {"%Y-%m-%dT", "%Y-%m-%d "};
  constexpr const char* kClocks[] = {"%H:%M:%E*S", "%H:%M"};
  constexpr const char* kZones[] = {"%Ez", " %Ez", ""};
  for (const char* day : kDays) {
    for (const char* clock : kClocks) {
      for (const char* zone : kZones) {
        absl::Time time;
        if (!absl::ParseTime(Cat(day, clock, zone), text, absl::UTCTimeZone(), &time, nullptr)) continue;
        const int64_t ns = absl::ToUnixNanos(time);  // saturates outside the years that fit
        if (ns < 0 || ns == INT64_MAX) return std::nullopt;
        return ns;
      }
    }
  }
  return std::nullopt;
}

}  // namespace firstfault
