// What a report shows of places, times, other faults and the end of a run.
#include <gtest/gtest.h>

#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

std::string Steps(int32_t rank, int last) {
  std::string out;
  for (int step = 1; step <= last; ++step) {
    out += "2026-03-01 10:00:" + std::to_string(10 + step) + ",000 INFO [rank" + std::to_string(rank) + "] step " + std::to_string(step) + "/10000 loss 2.1\n";
  }
  return out;
}

std::vector<LogText> FourRanks(int last_of_rank_2, const std::string& end = "") {
  std::vector<LogText> logs;
  for (int32_t rank = 0; rank < 4; ++rank) {
    logs.push_back({"rank" + std::to_string(rank) + ".log", "", Steps(rank, rank == 2 ? last_of_rank_2 : 20) + end});
  }
  return logs;
}

TEST(Report, ALogThatJustStopsIsNotARunThatCompleted) {
  const v1::Report stopped = ReportOn(FourRanks(20));
  EXPECT_EQ(stopped.verdict(), "no_failure");
  EXPECT_NE(stopped.title().find("end of the run was not seen (last step 20)"), std::string::npos) << stopped.title();
  EXPECT_GT(stopped.would_settle_size(), 0);
  const v1::Report completed = ReportOn(FourRanks(20, "Training completed\n"));
  EXPECT_EQ(completed.verdict(), "no_failure");
  EXPECT_EQ(completed.title(), "the run completed");
  EXPECT_GT(completed.confidence(), stopped.confidence());
}

TEST(Report, ARankThatStopsLongBeforeTheOthersSpeaksAgainstAGoodEnd) {
  const v1::Report report = ReportOn(FourRanks(9));
  EXPECT_EQ(report.verdict(), "undetermined");
  EXPECT_NE(report.why().find("rank 2 stops at step 9"), std::string::npos) << report.why();
  EXPECT_EQ(ReportOn(FourRanks(19)).verdict(), "no_failure");  // its logger lags
}

constexpr char kSwitch[] =
    "[ 101.000000] nvidia-nvswitch2: SXid (PCI:0000:87:00.0): 20034, Fatal, Link 31 LTSSM Fault Up\n";

TEST(Report, ADeviceIsWhatTheLineSaysItIs) {
  const v1::Report nic = ReportOn(
      {{"dmesg", "n01", "[ 101.000000] mlx5_core 0000:5e:00.0: Port module event: module 0, Cable unplugged\n", SourceInfo::Kind::kKernelLog}});
  EXPECT_EQ(nic.initiator().device().kind(), "nic");
  const v1::Report fabric = ReportOn({{"dmesg", "n01", kSwitch, SourceInfo::Kind::kKernelLog},
                                      {"n01.log", "n01", "[rank4]: NCCL INFO comm 0x55d0 rank 4 nranks 8 cudaDev 4 busId 87000 - Init COMPLETE\n"}});
  EXPECT_EQ(fabric.initiator().device().kind(), "nvswitch");
  EXPECT_FALSE(fabric.initiator().has_rank());
  EXPECT_FALSE(fabric.root().has_rank());
}

TEST(Report, TheSameFaultOnOtherRanksIsNotUnrelated) {
  std::string log;
  for (const char* rank : {"0", "1", "2", "3"}) {
    log += std::string("[rank") + rank + "]: FloatingPointError: loss is nan at step 519, aborting\n";
  }
  EXPECT_EQ(ReportOn(log).unrelated_size(), 0);
}

TEST(Report, ATimeIsTheLinesOwnOrOneThatItCameAfter) {
  const std::string before = "2026-03-01 10:00:16,000 INFO step 6\n";
  const v1::EventTime after = ReportOn(before + "[rank1]: KeyError: 'pixel_values'\n").root().time();
  EXPECT_TRUE(after.after());
  EXPECT_TRUE(after.stamp().starts_with("2026-03-01 10:00:16")) << after.stamp();
  const v1::EventTime own =
      ReportOn(before + "slurmstepd: error: *** JOB 41 ON n01 CANCELLED AT 2026-03-01T10:30:00 DUE TO TIME LIMIT ***\n").root().time();
  EXPECT_FALSE(own.after());
  EXPECT_EQ(own.stamp(), "2026-03-01T10:30:00");
  const v1::Report delta = ReportOn(
      {{"dmesg", "n01", "[  +0.000004] NVRM: Xid (PCI:0000:03:00): 79, pid=11207, name=python3, GPU has fallen off the bus.\n", SourceInfo::Kind::kKernelLog}});
  ASSERT_TRUE(delta.has_root());
  EXPECT_FALSE(delta.root().time().has_stamp()) << delta.root().time().stamp();
}

TEST(Report, TheWordsThatASignatureKnowsAreMarked) {
  const v1::EventView root = ReportOn("[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 1 has a total capacity of 79.15 GiB of "
               "which 1.44 GiB is free.\n").root();
  ASSERT_GT(root.match_size(), 0);
  EXPECT_NE(root.text().substr(static_cast<size_t>(root.match_begin()), static_cast<size_t>(root.match_size())).find("CUDA out of memory"), std::string::npos);
}

TEST(Report, UndeterminedSaysWhatIsKnown) {
  std::string log;
  for (int rank = 0; rank < 4; ++rank) {
    log += "[rank" + std::to_string(rank) + "]:[E ProcessGroupNCCL.cpp:616] [Rank " + std::to_string(rank) +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran "
           "for 600056 milliseconds before timing out.\n";
  }
  const v1::Report report = ReportOn(log);
  ASSERT_EQ(report.verdict(), "undetermined");
  ASSERT_GT(report.known_size(), 0);
  EXPECT_NE(report.known(0).find("4 of 4 ranks waited in ALLREDUCE, number 7"), std::string::npos) << report.known(0);
}

}  // namespace
}  // namespace firstfault
