// Other readings of the same lines: which are listed, what counts for and against them, what would settle it.
#include "correlate/rivals.h"

#include <gtest/gtest.h>

#include "correlate/text.h"
#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

const v1::Hypothesis* Find(const v1::Report& report, std::string_view fault_class) {
  for (const v1::Hypothesis& hypothesis : report.hypotheses()) {
    if (!hypothesis.statement().empty() && hypothesis.class_() == fault_class) return &hypothesis;
  }
  return nullptr;
}

constexpr char kIllegal[] =
    "[rank5]: step 10 loss 2.0\n"
    "[rank5]: RuntimeError: CUDA error: an illegal memory access was encountered\n";
constexpr char kQuietKernel[] = "Mar  3 04:11:09 n03 kernel: perf: interrupt took too long (3141 > 3130)\n";
constexpr char kEccKernel[] =
    "Mar  3 04:11:09 n03 kernel: NVRM: Xid (PCI:0000:41:00): 48, pid=4711, name=python, An uncorrectable "
    "double bit error (DBE) has been detected on GPU\n";

LogText Train(const std::string& text) { return {"n03/train.log", "n03", text}; }
LogText Kernel(const std::string& text) {
  return {"n03/kern.log", "n03", text, SourceInfo::Kind::kKernelLog};
}

TEST(Rivals, TheLeadingReadingStaysFirstAndSharesItsProbability) {
  const v1::Report report = ReportOn({Train(kIllegal)});
  ASSERT_GE(report.hypotheses_size(), 2) << report.DebugString();
  EXPECT_EQ(report.hypotheses(0).class_(), report.class_());
  EXPECT_TRUE(report.hypotheses(0).statement().empty());
  double sum = 0;
  for (const v1::Hypothesis& hypothesis : report.hypotheses()) sum += hypothesis.probability();
  EXPECT_LE(sum, 1.0);
  for (int i = 1; i < report.hypotheses_size(); ++i) {
    EXPECT_LE(report.hypotheses(i).probability(), report.hypotheses(i - 1).probability()) << i;
  }
  const v1::Hypothesis* hardware = Find(report, "hardware");
  ASSERT_NE(hardware, nullptr);
  EXPECT_EQ(hardware->reading_size(), 3);
  EXPECT_NE(hardware->separating_control().find("compute-sanitizer"), std::string::npos);
}

TEST(Rivals, TheClassIsLessSureThanThePlaceByWhatItsRivalsHold) {
  const v1::Report report = ReportOn({Train(kIllegal)});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_LT(report.class_confidence(), report.confidence());
  EXPECT_DOUBLE_EQ(report.class_confidence(), report.hypotheses(0).probability());
  // Without rivals it is as sure.
  const v1::Report sure = ReportOn({Train("[rank5]: step 10 loss 2.0\n[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.02 GiB is free.\n")});
  ASSERT_EQ(sure.verdict(), "named") << sure.DebugString();
  EXPECT_DOUBLE_EQ(sure.class_confidence(), sure.confidence());
}

TEST(Rivals, ALogThatWasReadAndIsSilentCountsAgainst) {
  const v1::Report unread = ReportOn({Train(kIllegal)});
  const v1::Report silent = ReportOn({Train(kIllegal), Kernel(kQuietKernel)});
  ASSERT_NE(Find(unread, "hardware"), nullptr);
  ASSERT_NE(Find(silent, "hardware"), nullptr);
  EXPECT_EQ(Find(unread, "hardware")->evidence_against_size(), 0);
  EXPECT_EQ(Find(silent, "hardware")->evidence_against_size(), 1);
  EXPECT_LT(Find(silent, "hardware")->probability(), Find(unread, "hardware")->probability());
}

TEST(Rivals, ALineOfItsOwnIsEvidenceFor) {
  const std::string nan = "[rank5]: step 10 loss 2.0\n[rank5]: Loss is nan, stopping training\n";
  const std::string corrected =
      "Mar  3 04:11:09 n03 kernel: NVRM: Xid (PCI:0000:41:00): 63, pid='<unknown>', name=<unknown>, Row "
      "Remapper: New row marked for remapping, reset gpu to activate.\n";
  const v1::Report report = ReportOn({Train(nan), Kernel(corrected)});
  const v1::Hypothesis* hardware = Find(report, "hardware");
  ASSERT_NE(hardware, nullptr) << report.DebugString();
  ASSERT_EQ(hardware->evidence_for_size(), 1) << report.DebugString();
  EXPECT_NE(hardware->evidence_for(0).find("63"), std::string::npos);
}

TEST(Rivals, AFaultThatStatesItsCauseHasNone) {
  const v1::Report report =
      ReportOn({Kernel(kEccKernel),
                Train("[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n")});
  for (const v1::Hypothesis& hypothesis : report.hypotheses())
    EXPECT_TRUE(hypothesis.statement().empty()) << hypothesis.DebugString();
}

TEST(Rivals, WhatWasNotReadIsNamedWithItsCommand) {
  std::string waits;
  for (int rank = 0; rank < 4; ++rank) {
    waits += Cat("[rank", rank, "]:[E304 22:01:25.123456789 ProcessGroupNCCL.cpp:616] [Rank ", rank,
                 "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=118, OpType=ALLREDUCE, "
                 "NumelIn=1048576, "
                 "NumelOut=1048576, Timeout(ms)=600000) ran for 600031 milliseconds before timing out.\n");
  }
  const v1::Report report = ReportOn({Train("WORLD_SIZE=6\n" + waits)});
  ASSERT_EQ(report.verdict(), "undetermined") << report.DebugString();
  std::string settle;
  for (const std::string& line : report.would_settle()) settle += line + "\n";
  EXPECT_NE(settle.find("rank 4, 5"), std::string::npos) << settle;
  EXPECT_NE(settle.find("Kernel logs of n03: journalctl"), std::string::npos) << settle;
  const v1::Report read = ReportOn({Train("WORLD_SIZE=4\n" + waits), Kernel(kQuietKernel)});
  for (const std::string& line : read.would_settle())
    EXPECT_EQ(line.find("Kernel log"), std::string::npos) << line;
  ASSERT_NE(Find(read, "transport"), nullptr) << read.DebugString();
  ASSERT_NE(Find(read, "software"), nullptr);
}

TEST(Rivals, TheStopOfAnotherProcessIsNoOrderToTheOneThatWasKilled) {
  const auto log = [](int told) {
    return Cat("[rank0]: step 1\n[rank1]: step 1\n"
               "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process ", told, " closing signal SIGTERM\n"
               "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 1 (pid: 146) of binary: /usr/bin/python3\n"
               "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====================\ntrain.py FAILED\n"
               "---------------------\nFailures:\n  <NO_OTHER_FAILURES>\n---------------------\nRoot Cause (first observed failure):\n[0]:\n"
               "  time      : 2026-03-01_10:00:13\n  host      : n01\n  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 146)\n"
               "  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 146\n=====================\n");
  };
  const v1::Report other = ReportOn({{"n01.log", "n01", log(145)}}), own = ReportOn({{"n01.log", "n01", log(146)}});
  ASSERT_EQ(other.signature(), "derived.killed") << other.DebugString();
  ASSERT_NE(Find(other, "scheduler"), nullptr);
  EXPECT_EQ(Find(other, "scheduler")->evidence_for_size(), 0);
  EXPECT_EQ(Find(own, "scheduler")->evidence_for_size(), 1);
}

}  // namespace
}  // namespace firstfault
