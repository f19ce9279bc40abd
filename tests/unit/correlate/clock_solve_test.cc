// Difference constraints to offsets, without logs.
#include "correlate/clock_solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace firstfault {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'770'000'000 * kSecond;

OffsetFact Fact(size_t clock, size_t peer, int64_t low_s, int64_t high_s, size_t kind = 0) {
  return {clock, peer, kind, low_s * kSecond, high_s * kSecond, std::nullopt, kNow};
}
OffsetFact AtMost(size_t clock, size_t peer, int64_t high_s, size_t kind = 0) {
  return {clock, peer, kind, std::nullopt, high_s * kSecond, std::nullopt, kNow};
}

// Give or take the drift over the seconds between the facts of a test.
constexpr double kDrift = 0.1e9;

void ExpectInterval(const SolvedClock& clock, int64_t low_s, int64_t high_s) {
  ASSERT_EQ(clock.gap, ClockGap::kNone);
  EXPECT_NEAR(static_cast<double>(*clock.low), static_cast<double>(low_s * kSecond), kDrift);
  EXPECT_NEAR(static_cast<double>(*clock.high), static_cast<double>(high_s * kSecond), kDrift);
  EXPECT_GE(clock.likely, *clock.low);
  EXPECT_LE(clock.likely, *clock.high);
}

TEST(ClockSolve, OneFactIsItsOwnAnswer) {
  const auto solved = SolveClocks(2, 0, {Fact(1, 0, 93, 97)});
  ExpectInterval(solved.clocks[0], 0, 0);
  ExpectInterval(solved.clocks[1], 93, 97);
}

TEST(ClockSolve, ChainsAdd) {
  const auto solved = SolveClocks(3, 0, {Fact(1, 0, 5, 6), Fact(1, 2, -11, -9)});
  ExpectInterval(solved.clocks[2], 14, 17);
}

TEST(ClockSolve, DirectFactTightensAChain) {
  const auto solved = SolveClocks(3, 0, {Fact(1, 0, 0, 10), Fact(2, 1, 0, 10), Fact(2, 0, 19, 30)});
  ExpectInterval(solved.clocks[2], 19, 20);
  ExpectInterval(solved.clocks[1], 9, 10);
}

TEST(ClockSolve, OneSideStaysOpen) {
  const auto solved = SolveClocks(3, 0, {AtMost(1, 0, 4), Fact(1, 0, 1, 9), AtMost(2, 0, 7)});
  ExpectInterval(solved.clocks[1], 1, 4);
  EXPECT_EQ(solved.clocks[2].gap, ClockGap::kOneSided);
  EXPECT_NEAR(static_cast<double>(solved.clocks[2].high.value_or(0)), 7e9, 0.5e9);
  EXPECT_FALSE(solved.clocks[2].low);
}

TEST(ClockSolve, NoFactsIsAReason) {
  const auto solved = SolveClocks(4, 0, {Fact(1, 0, 0, 1), Fact(3, 2, 0, 1)});
  EXPECT_EQ(solved.clocks[2].gap, ClockGap::kNoFacts);
  EXPECT_EQ(solved.clocks[3].gap, ClockGap::kNoFacts);
  EXPECT_EQ(SolveClocks(1, 0, {}).clocks[0].gap, ClockGap::kNoFacts);
}

TEST(ClockSolve, LeastTrustworthyKindIsLeftOutAndNamed) {
  for (const bool forward : {true, false}) {
    std::vector<OffsetFact> facts = {Fact(1, 0, 0, 2, 0), Fact(1, 0, 50, 52, 3), Fact(1, 0, 1, 3, 1)};
    if (!forward) std::reverse(facts.begin(), facts.end());
    const auto solved = SolveClocks(2, 0, facts);
    ExpectInterval(solved.clocks[1], 1, 2);
    ASSERT_EQ(solved.clocks[1].dropped.size(), 1u);
    EXPECT_EQ(solved.clocks[1].dropped[0].kind, 3u);
    EXPECT_EQ(solved.clocks[1].dropped[0].against, 0u);
  }
}

// One clock's contradiction is no matter of the others.
TEST(ClockSolve, EqualsThatContradictAreBothLeftOut) {
  const auto solved =
      SolveClocks(4, 0, {Fact(1, 0, 0, 1), Fact(2, 1, 0, 1), Fact(2, 0, 60, 61), Fact(3, 0, 4, 5)});
  EXPECT_EQ(solved.clocks[1].gap, ClockGap::kContradiction);
  EXPECT_EQ(solved.clocks[2].gap, ClockGap::kContradiction);
  ExpectInterval(solved.clocks[3], 4, 5);
}

TEST(ClockSolve, KindThatContradictsItselfGivesTheClockUp) {
  const auto solved = SolveClocks(2, 0, {Fact(1, 0, 0, 1), Fact(1, 0, 60, 61)});
  EXPECT_EQ(solved.clocks[1].gap, ClockGap::kContradiction);
  ASSERT_EQ(solved.clocks[1].dropped.size(), 1u);
  EXPECT_FALSE(solved.clocks[1].dropped[0].against);
}

TEST(ClockSolve, AFewMisreadFactsAreOutvoted) {
  std::vector<OffsetFact> facts;
  for (int64_t i = 0; i < 12; ++i) facts.push_back(Fact(1, 0, 90 - i, 100 + i));
  for (int64_t i = 0; i < 4; ++i) facts.push_back(Fact(1, 0, 4000 + i, 4001 + i));
  const auto solved = SolveClocks(2, 0, facts);
  ASSERT_EQ(solved.clocks[1].gap, ClockGap::kNone);
  EXPECT_LE(*solved.clocks[1].low, 95 * kSecond);
  EXPECT_GE(*solved.clocks[1].high, 95 * kSecond);
  EXPECT_LE(*solved.clocks[1].high - *solved.clocks[1].low, 30 * kSecond);
}

TEST(ClockSolve, AnHourAgoSaysLess) {
  OffsetFact old = Fact(1, 0, 10, 11);
  old.at_ns = kNow - 3600 * kSecond;
  const auto solved = SolveClocks(3, 0, {old, Fact(2, 0, 0, 1)});
  ASSERT_EQ(solved.clocks[1].gap, ClockGap::kNone);
  EXPECT_NEAR(static_cast<double>(*solved.clocks[1].high), 11e9 + 1.8e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(*solved.clocks[1].low), 10e9 - 1.8e9, 0.02e9);
}

TEST(ClockSolve, AbsurdNumbersAreNoFacts) {
  OffsetFact far = Fact(1, 0, 0, 1);
  far.at_most = INT64_MAX;
  OffsetFact when = Fact(1, 0, 0, 1);
  when.at_ns = INT64_MIN;
  EXPECT_EQ(SolveClocks(2, 0, {far, when}).clocks[1].gap, ClockGap::kNoFacts);
}

TEST(ClockSolve, LongChainOfTheLargestOffsetsDoesNotOverflow) {
  std::vector<OffsetFact> facts;
  constexpr int64_t kLargest = kOffsetMaxNs / kSecond;
  for (size_t i = 1; i < 2000; ++i) facts.push_back(Fact(i, i - 1, kLargest - 1, kLargest));
  const auto solved = SolveClocks(2000, 0, facts);
  EXPECT_EQ(solved.clocks[1].gap, ClockGap::kNone);
  EXPECT_EQ(solved.clocks[1999].gap, ClockGap::kNoFacts) << "an offset of centuries is no offset";
}

// Random clocks that drift, random facts that are true of them, told in random order: the true offset at the
// end of the job lies inside every stated interval, and many intervals are stated.
TEST(ClockSolve, TrueOffsetLiesInTheStatedInterval_Property) {
  std::mt19937_64 random(20260304);
  const auto uniform = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t stated = 0, silent = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t clocks = static_cast<size_t>(uniform(2, 12));
    std::vector<int64_t> offset(clocks), ppm(clocks);
    const int64_t scale =
        std::vector<int64_t>{kSecond, 300 * kSecond, 32'400 * kSecond}[static_cast<size_t>(uniform(0, 2))];
    for (size_t i = 0; i < clocks; ++i) {
      offset[i] = uniform(-scale, scale);
      ppm[i] = uniform(-kDriftPerMillion / 2, kDriftPerMillion / 2);
    }
    // The offset at so much before the end.
    const auto offset_at = [&](size_t clock, int64_t before) {
      return offset[clock] - before / 1'000'000 * ppm[clock];
    };
    std::vector<OffsetFact> facts;
    const int64_t count = uniform(1, 60);
    for (int64_t i = 0; i < count; ++i) {
      const size_t clock = static_cast<size_t>(uniform(0, static_cast<int64_t>(clocks) - 1));
      const size_t peer = static_cast<size_t>(uniform(0, static_cast<int64_t>(clocks) - 1));
      if (clock == peer) continue;
      const int64_t before = i == 0 ? 0 : uniform(0, 7200) * kSecond;
      const int64_t truth = offset_at(clock, before) - offset_at(peer, before);
      OffsetFact fact{clock, peer, static_cast<size_t>(uniform(0, 5)),      {},
                      {},    {},   kNow - before + offset_at(clock, before)};
      const int64_t sides = uniform(0, 3);
      if (sides != 0) fact.at_least = truth - uniform(0, 20 * kSecond);
      if (sides != 1) fact.at_most = truth + uniform(0, 20 * kSecond);
      if (uniform(0, 1) == 1) fact.likely = truth + uniform(-kSecond, kSecond);
      facts.push_back(fact);
    }
    const auto solved = SolveClocks(clocks, 0, facts);
    const int64_t before_end = kNow + offset[0] - solved.end_ns;  // job time is that of clock 0
    auto shuffled = facts;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto again = SolveClocks(clocks, 0, shuffled);
    for (size_t i = 1; i < clocks; ++i) {
      const SolvedClock& clock = solved.clocks[i];
      EXPECT_TRUE(clock.dropped.empty()) << "round " << round << ": true facts never contradict each other";
      const int64_t truth = offset_at(i, before_end) - offset_at(0, before_end);
      EXPECT_LE(clock.low.value_or(truth), truth) << "round " << round << " clock " << i;
      EXPECT_GE(clock.high.value_or(truth), truth) << "round " << round << " clock " << i;
      (clock.gap == ClockGap::kNone ? stated : silent) += 1;
      EXPECT_EQ(clock.low, again.clocks[i].low);
      EXPECT_EQ(clock.high, again.clocks[i].high);
      EXPECT_EQ(clock.likely, again.clocks[i].likely);
    }
  }
  EXPECT_GT(stated, 800);
  EXPECT_GT(silent, 50);
}

// The same with facts that are wrong, at most a quarter of a bundle of eight or more: none misleads.
TEST(ClockSolve, MisreadFactsDoNotMoveTheIntervalOffTheTruth_Property) {
  std::mt19937_64 random(7);
  const auto uniform = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const int64_t truth = uniform(-300, 300) * kSecond;
    std::vector<OffsetFact> facts;
    const int64_t count = uniform(8, 40);
    for (int64_t i = 0; i < count; ++i) {
      const bool wrong = i < count / 4;
      const int64_t told = wrong ? truth + uniform(-3600, 3600) * kSecond : truth;
      facts.push_back({1, 0, 1, told - uniform(0, 5 * kSecond), told + uniform(0, 5 * kSecond), told, kNow});
    }
    const auto solved = SolveClocks(2, 0, facts);
    ASSERT_EQ(solved.clocks[1].gap, ClockGap::kNone) << round;
    EXPECT_LE(*solved.clocks[1].low, truth) << round;
    EXPECT_GE(*solved.clocks[1].high, truth) << round;
    EXPECT_LE(*solved.clocks[1].high - *solved.clocks[1].low, 10 * kSecond) << round;
  }
}

}  // namespace
}  // namespace firstfault
