// Clocks of hosts from what they did together: logs in, estimates out.
#include "correlate/clock_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "correlate/correlate.h"
#include "correlate/parse/stamp.h"
#include "correlate/source_scanner.h"
#include "correlate/text.h"

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

// 2026-01-01 10:00:00 and so many milliseconds, as loggers print it.
std::string At(int64_t ms) {
  std::string out = FormatUtc((DaysFromCivil(2026, 1, 1) * 86400 + 36000) * kSecondNs + ms * 1'000'000, 3);
  out[19] = ',';
  return out;
}

// `count` steps, one every `step_ms`, by a clock that is `off_ms` ahead.
std::string Steps(int64_t off_ms, int64_t count = 10, int64_t step_ms = 1000, int64_t first = 100) {
  std::string out;
  for (int64_t i = 0; i < count; ++i)
    out += Cat(At(off_ms + i * step_ms), " INFO step: ", first + i, " loss 1\n");
  return out;
}

std::string TimeOut(const std::string& clock, int rank, int ran_ms) {
  return Cat("[rank", rank, "]:[E101 ", clock, ".000000000 ProcessGroupNCCL.cpp:607] [Rank ", rank,
             "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, "
             "NumelIn=8, NumelOut=8, "
             "Timeout(ms)=600000) ran for ",
             ran_ms, " milliseconds before timing out.\n");
}

std::string Init(const std::string& host, int rank, int64_t ms, const char* what) {
  return Cat(At(ms), " ", host, ":10:11 [0] NCCL INFO ncclCommInitRankConfig comm 0x55", rank, " rank ", rank,
             " nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x7be1 - Init ", what, "\n");
}

struct Job {
  explicit Job(std::vector<SourceDigest> logs)
      : digests(std::move(logs)),
        incident(BuildIncident(*BuiltInEngine().catalogue, digests, {})),
        clock(incident) {}
  const ClockEstimate& Of(const std::string& host) const {
    const auto& all = clock.estimates();
    return *std::find_if(all.begin(), all.end(), [&](const ClockEstimate& e) { return e.host == host; });
  }
  const PlacedEvent& Event(const std::string& host) const {
    return *std::find_if(incident.events.begin(), incident.events.end(),
                         [&](const PlacedEvent& e) { return e.place.host == host; });
  }
  std::vector<SourceDigest> digests;
  Incident incident;
  JobClock clock;
};

constexpr int64_t kSecond = kSecondNs;

void ExpectHolds(const ClockEstimate& estimate, int64_t offset_ns, int64_t width_ns_max) {
  ASSERT_TRUE(estimate.aligned) << estimate.host << ": " << estimate.method;
  EXPECT_LE(*estimate.low_ns, offset_ns);
  EXPECT_GE(*estimate.high_ns, offset_ns);
  EXPECT_LE(*estimate.high_ns - *estimate.low_ns, width_ns_max);
  EXPECT_NEAR(static_cast<double>(estimate.offset_ns), static_cast<double>(offset_ns), 0.5e9);
}

TEST(ClockAlign, SameStepsGiveTheOffset) {
  const Job job({Log("n01", Steps(0)), Log("n02", Steps(95'000))});
  EXPECT_EQ(job.clock.reference(), "n01");
  ExpectHolds(job.Of("n02"), 95 * kSecond, 5 * kSecond);
  EXPECT_EQ(job.Of("n02").method, "same training step");
}

TEST(ClockAlign, LongStepsSayLess) {
  const Job job({Log("n01", Steps(0, 10, 60'000)), Log("n02", Steps(95'000, 10, 60'000))});
  ExpectHolds(job.Of("n02"), 95 * kSecond, 124 * kSecond);
  EXPECT_GE(*job.Of("n02").high_ns - *job.Of("n02").low_ns, 120 * kSecond);
}

// Step 5 behind step 9 is another epoch: neither names an instant.
TEST(ClockAlign, StepsThatComeAgainSayNothing) {
  const Job job(
      {Log("n01", Steps(0, 10, 1000, 0) + Steps(20'000, 10, 1000, 0)), Log("n02", Steps(0, 10, 1000, 0))});
  EXPECT_EQ(job.Of("n02").reason, "no_facts");
}

TEST(ClockAlign, WatchdogIsDatedBackByItsOwnLength) {
  const Job job({Log("n01", TimeOut("10:10:00", 0, 600'000)), Log("n02", TimeOut("10:10:40", 1, 610'000))});
  ExpectHolds(job.Of("n02"), 30 * kSecond, 7 * kSecond);
}

TEST(ClockAlign, SetUpOfACommunicatorBoundsBothWays) {
  const Job job({Log("n01", Init("n01", 0, 0, "START") + Init("n01", 0, 700, "COMPLETE")),
                 Log("n02", Init("n02", 1, 7100, "START") + Init("n02", 1, 7650, "COMPLETE"))});
  ExpectHolds(job.Of("n02"), 7 * kSecond, 4 * kSecond);
  EXPECT_EQ(job.Of("n02").method, "same communicator set-up");
}

TEST(ClockAlign, ZoneAndSkewAreToldApart) {
  const Job job({Log("n01", Steps(0)), Log("n02", Steps(9 * 3'600'000 + 7'000))});
  ExpectHolds(job.Of("n02"), (9 * 3600 + 7) * kSecond, 5 * kSecond);
  EXPECT_EQ(job.Of("n02").zone_ns, 9 * 3600 * kSecond);
}

TEST(ClockAlign, HalfHourZoneIsOneAndTwelveMinutesAreNot) {
  const Job job({Log("n01", Steps(0)), Log("n02", Steps(19'800'000)), Log("n03", Steps(689'000)),
                 Log("n04", Steps(100))});
  EXPECT_EQ(job.Of("n02").zone_ns, 19'800 * kSecond);
  EXPECT_EQ(job.Of("n03").zone_ns, 0);
  EXPECT_EQ(job.Of("n04").zone_ns, 0);
}

TEST(ClockAlign, YearlessAndYearStampsCompare) {
  const Job job({Log("n01", "2026-03-05 10:00:00,000 INFO step: 10 loss 1\n"),
                 Log("n02", "I0305 10:00:07.000000 12 loop.cc:1] step: 10 loss 1\n")});
  EXPECT_EQ(job.Of("n02").offset_ns, 7 * kSecond);
}

TEST(ClockAlign, YearlessStampsCrossNewYear) {
  const Job job({Log("n01", "I1231 23:59:58.000000 12 loop.cc:1] step: 10 loss 1\n"),
                 Log("n02", "I0101 00:00:05.000000 12 loop.cc:1] step: 10 loss 1\n"),
                 Log("n03", "2027-01-01 00:00:00,000 INFO step: 10 loss 1\n")});
  EXPECT_EQ(job.Of("n01").offset_ns - job.Of("n02").offset_ns, -7 * kSecond);
}

TEST(ClockAlign, OneClockThatIsOffIsNotTheMeasureOfTheOthers) {
  const Job job({Log("n01", Steps(600'000)), Log("n02", Steps(0)), Log("n03", Steps(300))});
  EXPECT_EQ(job.clock.reference(), "n02");
  ExpectHolds(job.Of("n01"), 600 * kSecond, 5 * kSecond);
}

TEST(ClockAlign, NothingInCommonIsSaidSo) {
  const Job job({Log("n01", "2026-01-01 10:00:00,000 INFO hello\n" + TimeOut("10:00:00", 0, 600'000)),
                 Log("n02", TimeOut("10:00:00", 1, 600'000).replace(0, 0, ""))});
  const Job apart(
      {Log("n01", Steps(0)),
       Log("n02", "2026-01-01 10:00:00,000 INFO epoch 3\n2026-01-01 10:00:01,000 INFO step: x\n")});
  EXPECT_TRUE(job.Of("n02").aligned);
  EXPECT_TRUE(apart.clock.estimates().empty()) << "n02 has no reading at all";
}

TEST(ClockAlign, HostWithoutStampsIsNamedAsSuch) {
  const std::string unstamped =
      "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of 79.15 GiB of which 1.44 GiB is free.\n";
  const Job job({Log("n01", Steps(0)), Log("n02", Steps(0)), Log("n03", unstamped)});
  EXPECT_EQ(job.Of("n03").reason, "no_stamps");
  const TimeBounds bounds = job.clock.BoundsOf(job.Event("n03"));
  EXPECT_FALSE(bounds.earliest_ns || bounds.latest_ns);
}

TEST(ClockAlign, SingleHostIsItsOwnTimeline) {
  const Job job({Log("n01", Steps(0) + TimeOut("10:10:00", 0, 600'000))});
  EXPECT_TRUE(job.clock.estimates().empty());
  const TimeBounds bounds = job.clock.BoundsOf(job.Event("n01"));
  EXPECT_EQ(bounds.earliest_ns, (DaysFromCivil(2026, 1, 1) * 86400 + 36'600) * kSecond);
  EXPECT_EQ(bounds.latest_ns, *bounds.earliest_ns + kSecond - 1);
}

// n02 notices that n01 is gone 20 s before n01's own line, by their stamps.
TEST(ClockAlign, EffectBeforeItsCauseIsAFindingAboutTheClock) {
  const std::string cause =
      At(60'000) +
      " [rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
      "total capacity of 79.15 GiB of which 1.44 GiB is free.\n";
  const std::string effect = "[" + At(40'000).substr(0, 19) +
                             "] n02:77:79 [0] misc/socket.cc:64 NCCL WARN socketProgress: Connection "
                             "closed by remote peer n01.cluster<40112>\n";
  const Job job({Log("n01", cause), Log("n02", effect)});
  const ClockEstimate& clock = job.Of("n02");
  EXPECT_EQ(clock.reason, "one_sided");
  ASSERT_TRUE(clock.high_ns);
  EXPECT_LT(*clock.high_ns, -17 * kSecond);
  EXPECT_FALSE(clock.low_ns);
}

// Rank 1 entered the collective 300 s late, which is no error of its clock: the steps say so.
TEST(ClockAlign, StepsOutweighALateCollective) {
  const Job job({Log("n01", Steps(0) + TimeOut("10:10:10", 0, 600'000)),
                 Log("n02", Steps(0) + TimeOut("10:15:10", 1, 600'000))});
  ExpectHolds(job.Of("n02"), 0, 5 * kSecond);
  ASSERT_EQ(job.Of("n02").contradictions.size(), 1u);
  EXPECT_NE(job.Of("n02").contradictions[0].find("\"same collective\" contradicts \"same training step\""),
            std::string::npos);
}

// The C++ half of the program stamps in another zone: which clock made a stamp is not known.
TEST(ClockAlign, StampsThatGoBackAreReportedAndNotPlaced) {
  const Job job({Log("n01", Steps(0)), Log("n02", Steps(0) + TimeOut("01:10:00", 1, 600'000))});
  EXPECT_EQ(job.Of("n02").contradictions, std::vector<std::string>{"stamps go back in time within one log"});
  EXPECT_FALSE(job.clock.BoundsOf(job.Event("n02")).earliest_ns);
}

TEST(ClockAlign, OrderIsByIntervalAndNeverAGuess) {
  const Job job({Log("n01", Steps(0) + TimeOut("10:10:00", 0, 600'000)),
                 Log("n02", Steps(95'000) + TimeOut("10:11:36", 1, 600'000)),
                 Log("n03", Steps(-41'000) + TimeOut("10:10:19", 2, 660'000))});
  const auto interval = [&](const std::string& host) {
    const TimeBounds bounds = job.clock.BoundsOf(job.Event(host));
    return Interval{bounds.earliest_ns.value_or(0), bounds.latest_ns.value_or(0)};
  };
  EXPECT_EQ(Compare(interval("n01"), interval("n02")), Order::kUnordered);
  EXPECT_EQ(Compare(interval("n02"), interval("n03")), Order::kBefore);
  EXPECT_EQ(Compare(interval("n03"), interval("n02")), Order::kAfter);
}

// A cause on n02 that is stamped before n01's time-out, by a clock that is 95 s behind, came after it.
TEST(ClockAlign, CauseBehindAnEffectLosesByIntervalsOnly) {
  const std::string oom =
      " [rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of "
      "79.15 GiB of which 1.44 GiB is free.\n";
  const auto against = [&](int64_t oom_ms) {
    const std::vector<SourceDigest> logs = {Log("n01", Steps(0) + TimeOut("10:01:00", 0, 30'000)),
                                            Log("n02", Steps(-95'000) + At(oom_ms - 95'000) + oom)};
    const v1::Report report = Correlate(BuiltInEngine(), logs, {});
    for (const v1::Hypothesis& hypothesis : report.hypotheses()) {
      for (const std::string& line : hypothesis.evidence_against()) {
        if (line.find("[after_effects ") != std::string::npos) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(against(90'000));
  EXPECT_FALSE(against(61'000)) << "within what is known of the clocks";
  EXPECT_FALSE(against(30'000));
}

TEST(ClockAlign, OrderOfSourcesDoesNotMatter) {
  const std::vector<std::string> texts = {Steps(0), Steps(95'000), Steps(-41'000),
                                          Steps(30) + TimeOut("10:10:00", 3, 600'000)};
  std::vector<SourceDigest> forward, backward;
  for (size_t i = 0; i < texts.size(); ++i) forward.push_back(Log(Cat("n0", i + 1), texts[i]));
  for (size_t i = texts.size(); i-- > 0;) backward.push_back(Log(Cat("n0", i + 1), texts[i]));
  const Job a(std::move(forward)), b(std::move(backward));
  ASSERT_EQ(a.clock.reference(), b.clock.reference());
  for (const ClockEstimate& estimate : a.clock.estimates()) {
    EXPECT_EQ(estimate.offset_ns, b.Of(estimate.host).offset_ns);
    EXPECT_EQ(estimate.low_ns, b.Of(estimate.host).low_ns);
    EXPECT_EQ(estimate.high_ns, b.Of(estimate.host).high_ns);
  }
}

}  // namespace
}  // namespace firstfault
