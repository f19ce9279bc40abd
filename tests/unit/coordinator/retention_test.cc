#include "coordinator/retention.h"

#include <gtest/gtest.h>

#include <string>

namespace firstfault {
namespace {

constexpr int64_t kHourNs = 3'600'000'000'000, kNowNs = 1000 * kHourNs;

RecordingSummary Quiet(const std::string& job, int64_t hours, uint64_t bytes) {
  RecordingSummary out;
  out.key.job = job;
  out.last_ns = kNowNs - hours * kHourNs;
  out.file_bytes = bytes;
  return out;
}

std::string Forgotten(const RetentionPolicy& policy) {
  std::string out;
  for (const JobKey& key : ToForget({Quiet("c", 3, 30), Quiet("a", 50, 10), Quiet("now", 0, 1000), Quiet("b", 40, 20)}, policy, kNowNs)) out += key.job + " ";
  return out;
}

TEST(Retention, TheOldestGoFirstAndWhatMayGoOnStays) {
  EXPECT_EQ(Forgotten({}), "");
  EXPECT_EQ(Forgotten({45 * kHourNs, 0}), "a ");
  EXPECT_EQ(Forgotten({2 * kHourNs, 0}), "a b c ");
  EXPECT_EQ(Forgotten({50 * kHourNs, 0}), "") << "as old as that, not older";
  EXPECT_EQ(Forgotten({0, 1060}), "");
  EXPECT_EQ(Forgotten({0, 1059}), "a ");
  EXPECT_EQ(Forgotten({0, 1049}), "a b ");
  EXPECT_EQ(Forgotten({0, 1}), "a b c ") << "however large, a job that may go on stays";
  EXPECT_EQ(Forgotten({45 * kHourNs, 1040}), "a b ");
}

}  // namespace
}  // namespace firstfault
