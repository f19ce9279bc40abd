#include "correlate/parse/stamp.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> MonthFromName(std::string_view name) {
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (kMonths[i] == name) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

// "123" -> 123'000'000 ns and its resolution.
struct Fraction {
  int64_t ns = 0;
  int64_t resolution_ns = kSecondNs;
};
Fraction FractionOf(std::string_view digits) {
  Fraction out;
  for (size_t i = 0; i < digits.size() && i < 9; ++i) {
    out.resolution_ns /= 10;
    out.ns += (digits[i] - '0') * out.resolution_ns;
  }
  // Python loggers print milliseconds as microseconds ("805000"): the last three zeros say nothing.
  if (digits.size() == 6 && digits.ends_with("000")) out.resolution_ns = 1'000'000;
  return out;
}

// "206.764307" -> nanoseconds.
std::optional<int64_t> SecondsToNs(std::string_view text, int64_t* resolution_ns) {
  const size_t dot = text.find('.');
  const auto whole = ParseNumber<int64_t>(text.substr(0, dot));
  if (!whole || *whole < 0 || *whole > 9'000'000'000) return std::nullopt;
  const Fraction fraction = FractionOf(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  if (dot != std::string_view::npos) {
    for (char c : text.substr(dot + 1)) {
      if (!IsDigit(c)) return std::nullopt;
    }
  }
  *resolution_ns = fraction.resolution_ns;
  return *whole * kSecondNs + fraction.ns;
}

// Minutes east of UTC.
std::optional<int> ZoneMinutes(std::string_view zone) {
  if (zone == "Z") return 0;
  if (zone.size() < 5 || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  const auto hours = ParseNumber<int>(zone.substr(1, 2));
  const auto minutes = ParseNumber<int>(zone.substr(zone.size() - 2));
  if (!hours || !minutes || *hours > 15 || *minutes > 59) return std::nullopt;
  const int total = *hours * 60 + *minutes;
  return zone[0] == '-' ? -total : total;
}

// Later times do not fit into 64-bit nanoseconds.
constexpr int64_t kYearMax = 2261;

bool ValidDate(int64_t year, int month, int day) {
  constexpr std::array<int, 12> kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return year >= 1970 && year <= kYearMax && month >= 1 && month <= 12 && day >= 1 &&
         day <= kDays[static_cast<size_t>(month - 1)];
}

constexpr int64_t kDayNs = 86400 * kSecondNs;

int64_t YearOf(int64_t day) {
  int64_t year = 1970 + day / 366;
  while (DaysFromCivil(year + 1, 1, 1) <= day) ++year;
  return year;
}

int64_t InYear(int64_t ns, int64_t year) {
  const int64_t day = ns / kDayNs;
  const int64_t own = YearOf(day);
  int month = 12;
  while (DaysFromCivil(own, month, 1) > day) --month;
  const int64_t day_of_month = day - DaysFromCivil(own, month, 1);
  return (DaysFromCivil(year, month, 1) + day_of_month) * kDayNs + ns % kDayNs;
}

}  // namespace

int64_t DaysFromCivil(int64_t year, int month, int day) {
  // Counts from 0000-03-01 so that the leap day is the last of its year.
  year -= month <= 2;
  const int64_t era = year / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

std::string FormatUtc(int64_t unix_ns, int digits) {
  int64_t seconds = unix_ns / kSecondNs;
  int64_t ns = unix_ns % kSecondNs;
  if (ns < 0) {
    ns += kSecondNs;
    --seconds;
  }
  int64_t days = seconds / 86400;
  int64_t rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_index = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * month_index + 2) / 5 + 1;
  const int64_t month = month_index < 10 ? month_index + 3 : month_index - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2);
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%04d-%02d-%02d %02d:%02d:%02d", static_cast<int>(year),
                static_cast<int>(month), static_cast<int>(day), static_cast<int>(rest / 3600),
                static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
  std::string out = buffer;
  if (digits > 0) {
    std::snprintf(buffer, sizeof(buffer), "%09d", static_cast<int>(ns));
    out += '.';
    out.append(buffer, static_cast<size_t>(digits));
  }
  return out;
}

std::optional<Stamp> StampFrom(const StampParts& parts) {
  Stamp stamp;
  if (!parts.boot.empty() || !parts.boot_us.empty() || !parts.delta.empty()) {
    const bool relative = !parts.delta.empty() && parts.boot.empty();
    stamp.clock = relative ? Stamp::Clock::kDelta : Stamp::Clock::kBoot;
    std::optional<int64_t> ns;
    if (!parts.boot_us.empty()) {
      const auto us = ParseNumber<int64_t>(parts.boot_us);
      if (us && *us >= 0 && *us < INT64_MAX / 1000) ns = *us * 1000;
      stamp.resolution_ns = 1000;
    } else {
      ns = SecondsToNs(relative ? parts.delta : parts.boot, &stamp.resolution_ns);
    }
    if (!ns) return std::nullopt;
    stamp.ns = *ns;
    stamp.text = std::string(!parts.boot_us.empty() ? parts.boot_us : relative ? parts.delta : parts.boot);
    return stamp;
  }
  if (!parts.epoch.empty()) {
    const auto ns = SecondsToNs(parts.epoch, &stamp.resolution_ns);
    if (!ns) return std::nullopt;
    stamp.clock = Stamp::Clock::kWallUtc;
    stamp.ns = *ns;
    stamp.text = std::string(parts.epoch);
    return stamp;
  }

  std::optional<int64_t> year;
  std::optional<int> month, day;
  if (!parts.date.empty()) {
    if (parts.date.size() != 10) return std::nullopt;
    year = ParseNumber<int64_t>(parts.date.substr(0, 4));
    month = ParseNumber<int>(parts.date.substr(5, 2));
    day = ParseNumber<int>(parts.date.substr(8, 2));
  } else if (!parts.mmdd.empty()) {
    const auto number = ParseNumber<int>(parts.mmdd);
    if (!number) return std::nullopt;
    month = *number / 100;
    day = *number % 100;
  } else if (parts.month_day.size() == 5) {
    month = ParseNumber<int>(parts.month_day.substr(0, 2));
    day = ParseNumber<int>(parts.month_day.substr(3, 2));
  } else if (!parts.month.empty()) {
    month = MonthFromName(parts.month);
    day = ParseNumber<int>(parts.day);
    if (!parts.year.empty()) year = ParseNumber<int64_t>(parts.year);
  }
  if (!month || !day || parts.clock.size() < 5) return std::nullopt;
  stamp.year_known = year.has_value();
  // 1972 is a leap year: 29 February of an unknown year stays a valid date.
  const int64_t used_year = year.value_or(1972);
  if (!ValidDate(used_year, *month, *day)) return std::nullopt;

  const auto hour = ParseNumber<int>(parts.clock.substr(0, 2));
  const auto minute = ParseNumber<int>(parts.clock.substr(3, 2));
  const auto second = parts.clock.size() >= 8 ? ParseNumber<int>(parts.clock.substr(6, 2)) : 0;
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  stamp.ns = (DaysFromCivil(used_year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 + *second) * kSecondNs;
  stamp.resolution_ns = parts.clock.size() >= 8 ? kSecondNs : 60 * kSecondNs;
  if (!parts.fraction.empty() && !parts.drop_fraction) {
    const Fraction fraction = FractionOf(parts.fraction);
    stamp.ns += fraction.ns;
    stamp.resolution_ns = fraction.resolution_ns;
  }
  if (const auto zone = ZoneMinutes(parts.zone)) {
    stamp.clock = Stamp::Clock::kWallUtc;
    stamp.ns -= int64_t{*zone} * 60 * kSecondNs;
  }
  for (std::string_view part : {parts.date, parts.mmdd, parts.month_day, parts.month, parts.day, parts.year}) {
    if (!part.empty()) stamp.text += Cat(stamp.text.empty() ? "" : " ", part);
  }
  stamp.text += Cat(" ", parts.clock);
  if (!parts.fraction.empty() && !parts.drop_fraction) stamp.text += Cat(".", parts.fraction);
  stamp.text += parts.zone;
  return stamp;
}

int64_t InYearNear(int64_t ns, int64_t around_ns) {
  const int64_t year = YearOf(around_ns / kDayNs);
  int64_t out = InYear(ns, year);
  for (const int64_t other : {InYear(ns, year - 1), InYear(ns, year + 1)}) {
    if (std::abs(other - around_ns) < std::abs(out - around_ns)) out = other;
  }
  return out;
}

}  // namespace firstfault
