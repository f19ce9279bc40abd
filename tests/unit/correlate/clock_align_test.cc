// Offsets of hosts from what they did together.
#include "correlate/clock_align.h"

#include <gtest/gtest.h>

#include "correlate/correlate.h"
#include "correlate/source_scanner.h"

namespace firstfault {
namespace {

SourceDigest Log(const std::string& host, const std::string& text) {
  static ScanBuffers buffers;
  SourceInfo info;
  info.path = host + ".log";
  info.host = Known{host, "file name"};
  SourceScanner scanner(BuiltInEngine(), buffers, info);
  scanner.Feed(text);
  return scanner.Finish();
}

std::vector<ClockEstimate> Align(const std::vector<SourceDigest>& logs) {
  return AlignClocks(BuildIncident(*BuiltInEngine().catalogue, logs, {}));
}

TEST(ClockAlign, SameStepGivesTheOffset) {
  const auto clocks = Align({Log("n01", "2026-01-01 10:00:00,000 INFO step: 10 loss 1\n2026-01-01 10:00:10,000 INFO step: 11 loss 1\n"),
                             Log("n02", "2026-01-01 10:01:35,000 INFO step: 10 loss 1\n2026-01-01 10:01:45,200 INFO step: 11 loss 1\n")});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_TRUE(clocks[1].aligned);
  EXPECT_NEAR(static_cast<double>(clocks[1].offset_ns), 95e9, 1e9);
  EXPECT_GE(clocks[1].uncertainty_ns, 0);
}

TEST(ClockAlign, WatchdogIsDatedBackByItsOwnLength) {
  const auto line = [](const char* clock, int rank, const char* ran) {
    return std::string("[rank") + std::to_string(rank) + "]:[E101 " + clock + ".000000000 ProcessGroupNCCL.cpp:607] [Rank " +
           std::to_string(rank) + "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=8, "
           "NumelOut=8, Timeout(ms)=600000) ran for " + ran + " milliseconds before timing out.\n";
  };
  const auto clocks = Align({Log("n01", line("10:10:00", 0, "600000")), Log("n02", line("10:10:30", 1, "600000"))});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_TRUE(clocks[1].aligned);
  EXPECT_EQ(clocks[1].offset_ns, 30'000'000'000);
}

TEST(ClockAlign, ZoneIsRecognised) {
  const auto clocks = Align({Log("n01", "2026-01-01 10:00:00,000 INFO step: 10 loss 1\n"), Log("n02", "2026-01-01 19:00:00,500 INFO step: 10 loss 1\n")});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_NE(clocks[1].method.find("time zone"), std::string::npos);
}

TEST(ClockAlign, YearlessAndYearStampsCompare) {
  const auto clocks = Align({Log("n01", "2026-03-05 10:00:00,000 INFO step: 10 loss 1\n"),
                             Log("n02", "I0305 10:00:07.000000 12 loop.cc:1] step: 10 loss 1\n")});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[1].offset_ns, 7'000'000'000);
}

TEST(ClockAlign, NothingInCommonIsSaidSo) {
  const auto clocks = Align({Log("n01", "2026-01-01 10:00:00,000 INFO step: 10 loss 1\n"), Log("n02", "2026-01-01 10:00:00,000 INFO step: 99 loss 1\n")});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_FALSE(clocks[0].aligned);
  EXPECT_FALSE(clocks[1].aligned);
  EXPECT_FALSE(clocks[1].method.empty());
}

}  // namespace
}  // namespace firstfault
