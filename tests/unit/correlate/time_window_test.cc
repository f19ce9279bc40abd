// --since and --until on stamps as logs have them: without a year, without a zone, or without a date.
#include "correlate/time_window.h"

#include <gtest/gtest.h>

#include "correlate/parse/stamp.h"

namespace firstfault {
namespace {

constexpr int64_t kHourNs = 3600 * kSecondNs;

int64_t At(int64_t year, int month, int day, int64_t hour) {
  return DaysFromCivil(year, month, day) * 24 * kHourNs + hour * kHourNs;
}

Event Stamped(int64_t ns, bool year_known, Stamp::Clock clock) {
  Event event;
  event.prefix.stamp = Stamp{};
  event.prefix.stamp->ns = ns;
  event.prefix.stamp->year_known = year_known;
  event.prefix.stamp->clock = clock;
  return event;
}

const int64_t kSince = At(2026, 1, 1, 0), kUntil = At(2026, 1, 2, 0);

TEST(TimeWindow, AYearIsTakenFromTheOtherStampsOrTheFile) {
  SourceDigest digest;
  digest.events.push_back(Stamped(At(2026, 1, 1, 12), true, Stamp::Clock::kWallUtc));
  const Event inside = Stamped(At(1970, 1, 1, 12), false, Stamp::Clock::kWallUtc);
  const Event before = Stamped(At(1970, 12, 31, 23), false, Stamp::Clock::kWallUtc);  // of 2025
  const Event behind = Stamped(At(1970, 1, 3, 0), false, Stamp::Clock::kWallUtc);
  SourceInfo dated_file;
  dated_file.modified_ns = At(2026, 1, 5, 0);
  for (const bool by_stamps : {true, false}) {
    TimeWindow window(kSince, kUntil, by_stamps ? std::vector<const SourceDigest*>{&digest} : std::vector<const SourceDigest*>{});
    const SourceInfo source = by_stamps ? SourceInfo() : dated_file;
    EXPECT_TRUE(window.Holds(inside, source));
    EXPECT_FALSE(window.Holds(before, source));
    EXPECT_FALSE(window.Holds(behind, source));
    EXPECT_TRUE(window.Sentences().empty());
  }
}

TEST(TimeWindow, WhatHasNoDateIsKeptAndCounted) {
  TimeWindow window(kSince, kUntil, {});
  EXPECT_TRUE(window.Holds(Stamped(At(1970, 6, 1, 0), false, Stamp::Clock::kWallUtc), {}));
  EXPECT_TRUE(window.Holds(Stamped(5 * kSecondNs, true, Stamp::Clock::kBoot), {}));
  EXPECT_TRUE(window.Holds(Event(), {}));
  ASSERT_EQ(window.Sentences().size(), 1u);
  EXPECT_EQ(window.Sentences()[0], "3 events have no date that --since and --until could judge, and were kept");
}

TEST(TimeWindow, AZoneIsTheUsersOrUtcWhichIsSaid) {
  const Event event = Stamped(At(2026, 1, 2, 1), true, Stamp::Clock::kWallLocal);
  SourceInfo berlin;
  berlin.zone_minutes = 60;
  TimeWindow window(kSince, kUntil, {});
  EXPECT_TRUE(window.Holds(event, berlin));
  EXPECT_TRUE(window.Sentences().empty());
  EXPECT_FALSE(window.Holds(event, {}));
  ASSERT_EQ(window.Sentences().size(), 1u);
  EXPECT_NE(window.Sentences()[0].find("1 events have stamps without a zone"), std::string::npos);
}

TEST(TimeWindow, WithoutBoundsNothingIsJudged) {
  TimeWindow window(std::nullopt, std::nullopt, {});
  EXPECT_TRUE(window.Holds(Event(), {}));
  EXPECT_TRUE(window.Sentences().empty());
}

}  // namespace
}  // namespace firstfault
