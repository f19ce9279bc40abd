// The peeling table against the reference's test vectors and hazards.
#include "correlate/parse/prefix.h"

#include <gtest/gtest.h>

#include "correlate/parse/stamp.h"

namespace firstfault {
namespace {

TEST(Prefix, OuterRankWinsOverGroupRank) {
  const Peeled p = Peel(
      "[rank7]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective");
  EXPECT_EQ(p.prefix.rank, 7);
  EXPECT_EQ(p.prefix.group_rank, 3);
  EXPECT_EQ(p.prefix.level, "E");
  ASSERT_TRUE(p.prefix.stamp);
  EXPECT_FALSE(p.prefix.stamp->year_known);
  EXPECT_EQ(p.prefix.stamp->resolution_ns, kSecondNs) << "the nine digits are the monotonic clock's";
  EXPECT_EQ(p.prefix.stamp->ns % kSecondNs, 0);
  EXPECT_EQ(p.prefix.stamp->text, "1206 18:44:12");
  EXPECT_EQ(p.message, "Watchdog caught collective");
}

TEST(Prefix, MonthWithoutZero) {
  const Peeled p = Peel(
      "[rank0]:[W321 09:05:01.000112233 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=84, "
      "addr=[n12]:51234, remote=[n01]:29500): failed to recv, got 0 bytes");
  EXPECT_EQ(p.prefix.rank, 0);
  ASSERT_TRUE(p.prefix.stamp);
  EXPECT_EQ(p.prefix.stamp->ns, (DaysFromCivil(1972, 3, 21) * 86400 + 9 * 3600 + 5 * 60 + 1) * kSecondNs);
  EXPECT_TRUE(p.message.starts_with("recvValue failed"));
}

TEST(Prefix, OldTorchHasNoGlobalRankOnTheLine) {
  const Peeled p = Peel("[E ProcessGroupNCCL.cpp:464] [Rank 5] Watchdog caught collective");
  EXPECT_FALSE(p.prefix.rank);
  EXPECT_EQ(p.prefix.group_rank, 5);
}

TEST(Prefix, TaskTeeAndRankStack) {
  const Peeled p = Peel("12: [default3]:[rank99]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] x");
  EXPECT_EQ(p.prefix.task, 12);
  EXPECT_EQ(p.prefix.local_rank, 3);
  EXPECT_EQ(p.prefix.rank, 99);
}

TEST(Prefix, LoggersThatTellTheirWholePlace) {
  const Peeled p = Peel("[default0]:2026-03-01T10:00:00.151+00:00 INFO [n07 rank 2/8 local 0] step 4");
  EXPECT_EQ(p.prefix.rank, 2);
  EXPECT_EQ(p.prefix.world_size, 8);
  EXPECT_EQ(p.prefix.local_rank, 0);
  EXPECT_EQ(p.prefix.host, "n07");
  EXPECT_EQ(p.message, "step 4");
  EXPECT_EQ(Peel("2026-03-01 10:00:00,151 WARNING [rank 3/4] slow").prefix.rank, 3);
  EXPECT_FALSE(Peel("2026-03-01 10:00:00,151 INFO [lost rank order] x").prefix.rank);
}

TEST(Prefix, TeeGivesLocalRankOnly) {
  const Peeled p = Peel("[default2]:Traceback (most recent call last):");
  EXPECT_EQ(p.prefix.local_rank, 2);
  EXPECT_FALSE(p.prefix.rank);
  EXPECT_EQ(p.message, "Traceback (most recent call last):");
}

TEST(Prefix, PdshThenNccl) {
  const Peeled p = Peel(
      "n01: n01:4242:4310 [2] NCCL INFO comm 0x55 rank 10 nranks 64 cudaDev 2 nvmlDev 6 busId a1000 commId "
      "0xabc - Init COMPLETE");
  EXPECT_EQ(p.prefix.host, "n01");
  EXPECT_EQ(p.prefix.pid, 4242);
  EXPECT_EQ(p.prefix.device, 2);
  EXPECT_TRUE(p.message.starts_with("comm 0x55 rank 10"));
}

TEST(Prefix, NcclWarnWithTime) {
  const Peeled p = Peel(
      "[2026-01-02 03:04:05] n02:77:99 [0] misc/socket.cc:71 NCCL WARN socketProgress: Connection closed by "
      "remote peer n01<40112>");
  EXPECT_EQ(p.prefix.host, "n02");
  EXPECT_EQ(p.prefix.pid, 77);
  ASSERT_TRUE(p.prefix.stamp);
  EXPECT_EQ(p.prefix.stamp->ns, (DaysFromCivil(2026, 1, 2) * 86400 + 3 * 3600 + 4 * 60 + 5) * kSecondNs);
}

TEST(Prefix, NcclWarnWithFunction) {
  const Peeled p = Peel("n02:77:99 [0] misc/socket.cc:71 (ncclSocketProgress) NCCL WARN text");
  EXPECT_EQ(p.prefix.host, "n02");
  EXPECT_EQ(p.message, "text");
}

TEST(Prefix, AbslAndItsEpochForm) {
  const Peeled p = Peel("E0926 17:26:32.075402  157988 coordination_service_agent.cc:332] Polled an error");
  ASSERT_TRUE(p.prefix.stamp);
  EXPECT_EQ(p.prefix.stamp->resolution_ns, 1000);
  EXPECT_EQ(p.message, "Polled an error");
  const Peeled q = Peel("E0000 00:00:1764547200.123456 4242 x.cc:1] text");
  ASSERT_TRUE(q.prefix.stamp);
  EXPECT_EQ(q.prefix.stamp->clock, Stamp::Clock::kWallUtc);
  EXPECT_EQ(q.prefix.stamp->ns, 1764547200123456000);
}

TEST(Prefix, ElasticIsTheLauncherAndHasMilliseconds) {
  const Peeled p = Peel(
      "E0517 08:24:03.805000 140199 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: "
      "-9) local_rank: 2 (pid: 501) of binary: /usr/bin/python");
  EXPECT_TRUE(p.prefix.launcher);
  ASSERT_TRUE(p.prefix.stamp);
  EXPECT_EQ(p.prefix.stamp->resolution_ns, 1'000'000);
  EXPECT_TRUE(p.message.starts_with("failed (exitcode: -9)"));
}

TEST(Prefix, CriPartialLines) {
  const Peeled p = Peel("2026-01-02T03:04:05.123456789Z stderr P part");
  EXPECT_TRUE(p.prefix.partial);
  EXPECT_EQ(p.message, "part");
  EXPECT_FALSE(Peel("2026-01-02T03:04:05.123456789Z stderr F rest").prefix.partial);
}

TEST(Prefix, RayWorkerAndItsRepeatCount) {
  const Peeled p =
      Peel("(Trainer pid=88, ip=10.0.0.7) [rank4]: ValueError: x [repeated 7x across cluster]");
  EXPECT_EQ(p.prefix.pid, 88);
  EXPECT_EQ(p.prefix.rank, 4);
}

TEST(Prefix, KernelClocks) {
  const Peeled wall = Peel(
      "[Thu Jan  1 10:00:00 2026] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has "
      "fallen off the bus.");
  EXPECT_TRUE(wall.prefix.kernel);
  ASSERT_TRUE(wall.prefix.stamp);
  EXPECT_TRUE(wall.prefix.stamp->year_known);
  EXPECT_TRUE(wall.message.starts_with("NVRM: Xid"));

  const Peeled kmsg = Peel("6,3964,206764307,-;NVRM: GPU at PCI:0000:41:00: GPU-1");
  ASSERT_TRUE(kmsg.prefix.stamp);
  EXPECT_EQ(kmsg.prefix.stamp->clock, Stamp::Clock::kBoot);
  EXPECT_EQ(kmsg.prefix.stamp->ns, 206764307000);

  const Peeled delta = Peel("[  +0.000966] pcieport 0000:00:03.0: AER: Corrected error");
  ASSERT_TRUE(delta.prefix.stamp);
  EXPECT_EQ(delta.prefix.stamp->clock, Stamp::Clock::kDelta);
  EXPECT_TRUE(delta.message.starts_with("pcieport"));

  const Peeled both = Peel("Jun 10 22:17:46 lx-48 kernel: [ 12.345678] mlx5_core 0000:5e:00.0: Link down");
  EXPECT_EQ(both.prefix.host, "lx-48");
  ASSERT_TRUE(both.prefix.stamp);
  EXPECT_EQ(both.prefix.stamp->clock, Stamp::Clock::kWallLocal) << "a wall clock is not given up";
  EXPECT_TRUE(both.message.starts_with("mlx5_core"));
}

struct Vector {
  const char* line;
  std::optional<int32_t> rank;
  const char* host;
  const char* message;
};

TEST(Prefix, OtherDialects) {
  const Vector vectors[] = {
      {"2026-02-11 09:17:53,524 WARNING [train.py:640] (3/4) Caught exception", 3, "", "Caught exception"},
      {"[2026-02-27T21:35:28.747382Z] fb20c1aa [rank=0] || [E ProcessGroupNCCL.cpp:475] [Rank 0] Watchdog", 0,
       "", "Watchdog"},
      {"  | [rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog", 1, "", "Watchdog"},
      {"[2026-06-24 07:10:10,490] worker starting RANK=0", std::nullopt, "", "worker starting RANK=0"},
      {"[INFO|trainer.py:2889] 2025-12-22 06:16:10,861 >> Saving model", std::nullopt, "", "Saving model"},
      {"(VllmWorkerProcess pid=772) INFO 07-01 02:59:01 weight_utils.py:218] Using", std::nullopt, "", "Using"},
      {"(VllmWorker rank=2 pid=33) ERROR 04-11 10:00:00 [core.py:386] boom", 2, "", "boom"},
      {"(VllmWorker TP1 pid=901) ERROR 09-11 10:00:00 [core.py:386] boom", 1, "", "boom"},
      {"(Worker_TP1 pid=12) INFO 04-11 10:00:00 [core.py:386] boom", 1, "", "boom"},
      {"[1,5]<stderr>:boom", 5, "", "boom"},
      {"[prterun-n01-77@1,5][n01:4411]<stdout>:boom", 5, "n01", "boom"},
      {"[6]<stderr>:boom", 6, "", "boom"},
      {"[NeMo W 2026-01-01 00:00:00 nemo_logging:349 rank:9] boom", 9, "", "boom"},
      {"2026-01-01 00:00:00,123: rank3[77][MainThread]: ERROR: composer.cli: boom", 3, "", "boom"},
      {"[2026-01-01 00:00:00 TP2] boom", 2, "", "boom"},
      {"[RANK 4] boom", 4, "", "boom"},
      {"[rank3]:[titan] 2026-01-01 00:00:00,123 - root - INFO - boom", 3, "", "[titan] 2026-01-01 00:00:00,123 - root - INFO - boom"},
      {"2026-01-01 00:00:00.123 | ERROR    | mod:func:12 - boom", std::nullopt, "", "boom"},
      {"[pod/job-worker-3/pytorch] boom", std::nullopt, "job-worker-3", "boom"},
      {"sft-node-0-1-x4hmq node [rank5]: boom", 5, "sft-node-0-1-x4hmq", "boom"},
      {"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1)", std::nullopt, "",
       "failed (exitcode: 1)"},
      {"iter 82692: loss 1.6144", std::nullopt, "", "iter 82692: loss 1.6144"},
      {"12: plain text of nobody", std::nullopt, "", "12: plain text of nobody"},
      {"error: plain text", std::nullopt, "", "error: plain text"},
  };
  for (const Vector& v : vectors) {
    const Peeled p = Peel(v.line);
    EXPECT_EQ(p.prefix.rank, v.rank) << v.line;
    EXPECT_EQ(p.prefix.host, v.host) << v.line;
    EXPECT_EQ(p.message, v.message) << v.line;
  }
}

TEST(Prefix, HabitsAreLearnedFromMostLines) {
  const PrefixHabits srun = LearnHabits({" 0: a", " 1: b", "10: c", "11: d", " 2: e"});
  EXPECT_TRUE(srun.task_colon);
  EXPECT_EQ(Peel("11: plain", srun).prefix.task, 11);
  const PrefixHabits pdsh = LearnHabits({"n01: a", "n02: b", "n01: c", "n03: d"});
  EXPECT_TRUE(pdsh.host_colon);
  EXPECT_EQ(Peel("n03: plain", pdsh).prefix.host, "n03");
  const PrefixHabits numbered = LearnHabits({"[1] a", "[2] b", "[3] c", "[4] d", "[5] e"});
  EXPECT_TRUE(numbered.line_number);
  EXPECT_FALSE(numbered.rank_bracket);
  EXPECT_FALSE(LearnHabits({"a", "b", "c", "1: d"}).task_colon);
}

TEST(Prefix, TimesThatNanosecondsCannotHoldAreNone) {
  EXPECT_TRUE(Peel("[2261-12-31 23:59:59,999] a").prefix.stamp);
  for (const char* line : {"[2262-01-01 00:00:00,000] a", "[9999-12-31 23:59:60] b", "[Wed Mar  4 05:06:07 2452] c"}) {
    EXPECT_FALSE(Peel(line).prefix.stamp) << line;
  }
}

TEST(Prefix, GluedLinesAreFound) {
  EXPECT_EQ(GluedStarts("loss 1.2[rank1]: Traceback (most recent call last):").front(), 8u);
  EXPECT_TRUE(GluedStarts("[rank1]: Traceback (most recent call last):").empty());
  const std::string bar = "Running:  88%|####| 1/2 [29:55<03:25, 2.55 examples/s]Traceback (most recent call last):";
  ASSERT_EQ(GluedStarts(bar).size(), 1u);
  EXPECT_EQ(bar.substr(GluedStarts(bar)[0]), "Traceback (most recent call last):");
}

TEST(Prefix, InnerStartsAfterExceptionClass) {
  const std::string line = "[rank0]: torch.distributed.DistNetworkError: Connection reset by peer";
  EXPECT_EQ(Peel(line).starts.back(), line.find("Connection"));
}

}  // namespace
}  // namespace firstfault
