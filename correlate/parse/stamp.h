// stamp.h: printed times to numbers.
//
// Why:     every log dialect prints time in its own way, most without year or zone; what is not printed
//          stays unknown (Stamp::clock, year_known) instead of being guessed.
// Units:   nanoseconds; calendar arithmetic is proleptic Gregorian, years 1970 to 2261.
// Errors:  text that is not a valid time gives nullopt.
// Threads: pure functions.
#ifndef FIRSTFAULT_CORRELATE_PARSE_STAMP_H_
#define FIRSTFAULT_CORRELATE_PARSE_STAMP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "correlate/event.h"

namespace firstfault {

inline constexpr int64_t kSecondNs = 1'000'000'000;

// The named parts of a time, as a dialect captured them. Empty views were not printed.
struct StampParts {
  std::string_view date;      // 2026-01-02 or 2026/01/02
  std::string_view mmdd;      // 1206, 321 (month without zero)
  std::string_view month_day; // 01-02
  std::string_view month;     // Jan
  std::string_view day;       // 2
  std::string_view year;      // 2026
  std::string_view clock;     // 18:44:12 or 18:44
  std::string_view fraction;  // digits after the point or comma
  std::string_view zone;      // Z, +01:00, -0500, or empty
  std::string_view epoch;     // 1764547200.123456
  std::string_view boot;      // seconds since boot, 206.764307
  std::string_view boot_us;   // microseconds since boot
  std::string_view delta;     // seconds since the line before, 0.000966
  bool drop_fraction = false; // torch >= 2.4 prints the monotonic clock's nanoseconds there
};

std::optional<Stamp> StampFrom(const StampParts& parts);

// Days since 1970-01-01.
int64_t DaysFromCivil(int64_t year, int month, int day);
// The same month, day and time in the year that brings it nearest to `around_ns`; 29 February becomes 1 March where
// there is none. Neither is before 1970.
int64_t InYearNear(int64_t ns, int64_t around_ns);
// "2026-01-02 03:04:05.123" of Unix nanoseconds, UTC. `digits` of the fraction, 0 to 9.
std::string FormatUtc(int64_t unix_ns, int digits);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PARSE_STAMP_H_
