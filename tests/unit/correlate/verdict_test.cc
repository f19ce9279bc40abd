// Who is named, from which line, and what becomes of the others: kinds of incidents in their smallest form.
#include <gtest/gtest.h>

#include <algorithm>

#include "correlate/text.h"
#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

// --- ranks that disagree about a version
struct VersionLine {
  int printer, peer;
};
std::string VersionLog(const std::vector<VersionLine>& lines, int odd) {
  std::string out;
  for (const auto& [printer, peer] : lines) {
    const auto version = [&](int rank) { return rank == odd ? "22105" : "22703"; };
    out += Cat("[rank", printer, "]: Mismatched NCCL version detected : rank ", peer, " version ",
               version(peer), " rank ", printer, " version ", version(printer), "\n");
  }
  return out;
}

TEST(Verdict, TheRankWithAnotherVersionThanTheManyIsTheOddOne) {
  for (int odd : {0, 2, 3}) {
    std::vector<VersionLine> lines;
    for (int rank = 0; rank < 4; ++rank) lines.push_back({rank, rank == odd ? (odd + 1) % 4 : odd});
    const v1::Report report = ReportOn(VersionLog(lines, odd));
    ASSERT_EQ(report.verdict(), "named") << odd << report.DebugString();
    EXPECT_EQ(report.initiator().rank(), odd);
    EXPECT_EQ(report.class_(), "configuration");
    EXPECT_EQ(RoleOf(report, (odd + 1) % 4), "collateral");
  }
}

TEST(Verdict, AWarningThatAllRanksPrintAtStartIsNoFirstWarning) {
  std::string log;
  for (int rank = 0; rank < 4; ++rank) {
    log += Cat("n0", rank, ":", 900 + rank, ":", 950 + rank, " [0] NCCL INFO NET/IB : No device found.\n");
  }
  log += VersionLog({{0, 3}, {1, 3}, {2, 3}, {3, 0}}, 3);
  const v1::Report report = ReportOn(log);
  EXPECT_EQ(report.initiator().rank(), 3) << report.DebugString();
  EXPECT_NE(report.first_warning().text().find("Mismatched"), std::string::npos)
      << report.first_warning().text();
}

TEST(Verdict, TwoRanksWithTwoVersionsGiveACauseWithoutAPlace) {
  for (const std::vector<VersionLine>& lines :
       {std::vector<VersionLine>{{0, 1}, {1, 0}}, std::vector<VersionLine>{{0, 1}}}) {
    const v1::Report report = ReportOn(VersionLog(lines, 1));
    EXPECT_FALSE(report.has_initiator()) << report.DebugString();
    EXPECT_EQ(report.class_(), "configuration");
  }
}

// --- Horovod's list of missing ranks, and the mount that the missing one waits for
std::string Stall(const std::string& missing) {
  return "[1,0]<stderr>:[2026-03-03 04:15:02.128000: W horovod/common/stall_inspector.cc:107] One or more "
         "tensors were submitted to be "
         "reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for "
         "more than 60 seconds.\n"
         "[1,0]<stderr>:Missing ranks:\n" +
         missing;
}
constexpr char kBanners[] =
    "[1,0]<stdout>:rank 0/4 pid 9120 host a1 local_rank 0\n[1,1]<stdout>:rank 1/4 pid 9121 host a1 "
    "local_rank 1\n"
    "[1,2]<stdout>:rank 2/4 pid 717 host a2 local_rank 0\n[1,3]<stdout>:rank 3/4 pid 718 host a2 local_rank "
    "1\n";

TEST(Verdict, ARankThatHorovodMissesAndWhoseMountIsDeadIsNamed) {
  const std::string kernel =
      "Mar  3 04:17:28 a2 kernel: nfs: server filer7 not responding, still trying\n"
      "Mar  3 04:18:41 a2 kernel: INFO: task python3:718 blocked for more than 120 seconds.\n";
  const std::string log = kBanners + Stall("[1,0]<stderr>:3: [allreduce.layer4.weight]\n");
  const v1::Report report =
      ReportOn({{"mpirun.out", "", log}, {"a2.messages", "a2", kernel, SourceInfo::Kind::kKernelLog}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 3);
  EXPECT_EQ(report.initiator().host(), "a2");
  EXPECT_EQ(report.signature(), "nfs.down");
}

TEST(Verdict, AListOfSeveralMissingRanksNamesNoneOfThem) {
  const v1::Report report = ReportOn(
      kBanners +
      Stall("[1,0]<stderr>:2: [allreduce.layer4.weight]\n[1,0]<stderr>:3: [allreduce.layer4.weight]\n"));
  EXPECT_EQ(report.verdict(), "undetermined") << report.DebugString();
  EXPECT_FALSE(report.initiator().has_rank());
}

// --- a fault that all ranks show, but for one that was stopped first
TEST(Verdict, ARankThatWasStoppedBeforeItCouldFailHasNoPartInACommonFault) {
  std::string log = "WORLD_SIZE=5\n";
  for (int rank = 0; rank < 4; ++rank) {
    log += Cat("[rank", rank, "]: Traceback (most recent call last):\n[rank", rank,
               "]:   File \"train.py\", line 9, in main\n[rank", rank,
               "]: RuntimeError: Error(s) in loading state_dict for Net:\n[rank", rank,
               "]: \tsize mismatch for head.weight: copying a param with shape torch.Size([8, 4]) from "
               "checkpoint, the shape in current "
               "model is torch.Size([9, 4]).\n");
  }
  const v1::Report report = ReportOn({{"host1.log", "host1", log}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_FALSE(report.initiator().has_rank());
  EXPECT_EQ(report.initiator().host(), "host1");
  EXPECT_EQ(RoleOf(report, 3), "root");
  EXPECT_EQ(RoleOf(report, 4), "no_evidence");
}

// --- what stands before the fault and belongs to somebody else
std::string Killed(const char* invoker, int pid, const char* stamp) {
  return Cat(stamp, " w3 kernel: ", invoker,
             " invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n", stamp,
             " w3 kernel: Out of memory: Killed process ", pid,
             " (python3) total-vm:71226340kB, anon-rss:66880212kB, file-rss:0kB, shmem-rss:0kB, UID:1107 "
             "pgtables:131744kB "
             "oom_score_adj:0\n");
}

TEST(Verdict, AnOlderKillOfSomebodyElseIsNoWarning) {
  const std::string launcher =
      "[2026-04-02 23:13:38,121] [INFO] [launch.py:256:main] process 901 spawned with command: ['python3', "
      "'f.py', '--local_rank=0']\n"
      "[2026-04-02 23:13:38,122] [INFO] [launch.py:256:main] process 902 spawned with command: ['python3', "
      "'f.py', '--local_rank=1']\n"
      "[2026-04-02 23:18:43,207] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 901\n"
      "[2026-04-02 23:18:44,207] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 902\n"
      "[2026-04-02 23:18:48,019] [ERROR] [launch.py:325:sigkill_handler] ['python3', 'f.py', "
      "'--local_rank=1'] exits with return code = -9\n";
  const std::string kernel = Killed("jupyter-lab", 555, "2026-04-02T20:51:07+0000") +
                             Killed("kworker/u4:2", 901, "2026-04-02T23:18:39+0000");
  const v1::Report report =
      ReportOn({{"launch.log", "w3", launcher}, {"kern.log", "w3", kernel, SourceInfo::Kind::kKernelLog}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 0);
  EXPECT_NE(report.first_warning().text().find("kworker"), std::string::npos)
      << report.first_warning().text();
}

// --- a stop that answers an end
TEST(Verdict, AStopBehindAReportedEndIsNotTheFirstFault) {
  const std::string end = "srun: error: c3: task 3: Exited with exit code 1\n";
  const std::string stop = "slurmstepd: error: *** STEP 55.0 ON c1 CANCELLED AT 2026-04-02T09:14:34 ***\n";
  const auto terms = [](const v1::Report& report) {
    std::string out;
    for (const v1::Hypothesis& hypothesis : report.hypotheses()) {
      for (const std::string& term : hypothesis.evidence_for()) out += "+" + term;
      for (const std::string& term : hypothesis.evidence_against()) out += "-" + term;
    }
    return out;
  };
  EXPECT_NE(ReportOn(end + stop).signature(), "slurm.cancel.signal");
  const v1::Report told = ReportOn(end + stop);
  for (const v1::Hypothesis& hypothesis : told.hypotheses()) EXPECT_NE(hypothesis.signature(), "slurm.cancel.signal");
  EXPECT_NE(terms(ReportOn(stop + end)).find("[stopped_first "), std::string::npos);
}

TEST(Verdict, LaunchersThatAreAllToldToStopShareOneOrder) {
  const auto told = [](const char* host) {
    return LogText{Cat(host, ".log"), host,
                   "W0821 07:31:17.050000 1 torch/distributed/elastic/agent/server/api.py:719] Received Signals.SIGTERM death signal, "
                   "shutting down workers\n"
                   "W0821 07:31:17.052000 1 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 71 closing signal SIGTERM\n"};
  };
  const v1::Report all = ReportOn({told("n1"), told("n2")});
  EXPECT_EQ(all.verdict(), "named") << all.DebugString();
  EXPECT_EQ(all.class_(), "scheduler");
  EXPECT_FALSE(all.has_initiator());
}

// --- a native crash without a word
TEST(Verdict, ASilentCrashAsksForACoreDumpAndASilentKillDoesNot) {
  const auto log = [](int code) {
    return Cat(
        "W0304 22:01:25.000000 77 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 81 "
        "closing signal SIGTERM\n"
        "E0304 22:01:25.100000 77 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: ",
        code, ") local_rank: 1 (pid: 82) of binary: /usr/bin/python3\n");
  };
  const v1::Report crash = ReportOn({{"n01.log", "n01", log(-11)}});
  EXPECT_EQ(crash.signature(), "derived.crashed") << crash.DebugString();
  EXPECT_EQ(crash.class_(), "software");
  EXPECT_NE(AdviceOf(crash).find("core dump"), std::string::npos);
  const v1::Report kill = ReportOn({{"n01.log", "n01", log(-9)}});
  EXPECT_EQ(kill.signature(), "derived.killed") << kill.DebugString();
  EXPECT_EQ(AdviceOf(kill).find("core dump"), std::string::npos);
  EXPECT_GT(kill.would_settle_size(), 0);
}

// --- ranks that print nothing are listed where a line says how many there are
TEST(Verdict, TheSizeOfTheJobIsReadFromLaunchersAndFrameworks) {
  struct Row {
    const char* line;
    const char* last;  // role of the last rank
    int32_t rank;
  };
  constexpr Row kRows[] = {
      {"[2026-02-03 10:11:12,345] [INFO] [launch.py:145:main] dist_world_size=12", "no_evidence", 11},
      {"+ srun --nodes=2 torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=77 train.py", "no_evidence", 15},
      {"python -m torch.distributed.run --nproc-per-node 4 --nnodes 2 train.py", "no_evidence", 7},
      {"I0221 19:31:04.258800 4100 max_utils.py:231] Attempting to initialize the jax distributed system: "
       "process_id=1 num_processes=8",
       "no_evidence", 7},
      {"[Rank 0] Saved model to /ckpt/step_20/actor/model_world_size_16_rank_0.pt", "no_evidence", 15},
      {"torchrun --nnodes=1:4 --nproc_per_node=8 train.py", "not listed", 31},
  };
  for (const Row& row : kRows) {
    const v1::Report report = ReportOn(Cat(row.line, "\n[rank0]: KeyError: 'tokens'\n"));
    EXPECT_EQ(RoleOf(report, row.rank), row.last) << row.line;
    EXPECT_EQ(RoleOf(report, row.rank + 1), "not listed") << row.line;
  }
}

// --- warnings on the way out
TEST(Verdict, AWarningBehindTheLastStepOfTheRunIsNoFailure) {
  const std::string left = "[rank1]:[W910 15:20:05.100000000 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=28, addr=[nb]:47160, remote=[na]:29400): failed to recv, got 0 bytes\n";
  EXPECT_EQ(ReportOn(Cat("step 180/200 loss 1\nstep 200/200 loss 1\n", left)).verdict(), "no_failure");
  EXPECT_EQ(ReportOn(Cat("step 190 loss 1\ndone: 200/200 steps, exiting\n", left)).verdict(), "no_failure");
  EXPECT_EQ(ReportOn(Cat("step 160/200 loss 1\nstep 180/200 loss 1\n", left)).verdict(), "undetermined");
  EXPECT_EQ(ReportOn(Cat("step 200/200 loss 1\n", "[rank1]: KeyError: 'tokens'\n")).verdict(), "named");
}

// --- a host and a rank on it are one place
const std::string kPodKilled = "Name:             w1\nNode:             pool-77\n      Reason:       OOMKilled\n      Exit Code:    1\n";
std::string PodLog(const std::vector<int>& killed) {
  std::string out = "[10:00:00] [rank 4] INFO pod=w1 world=8 step 1\n[10:00:00] [rank 5] INFO pod=w1 world=8 step 1\n";
  for (int rank : killed) {
    out += Cat("[rank", rank, "]: Traceback (most recent call last):\n[rank", rank, "]:   File \"t.py\", line 3, in <module>\n[rank", rank,
               "]: RuntimeError: DataLoader worker (pid 1893) is killed by signal: Killed. \n");
  }
  return out;
}

TEST(Verdict, AHostAndTheOnlySuspectRankOnItDoNotCompete) {
  const v1::Report report = ReportOn({{"describe.txt", "", kPodKilled}, {"w1.log", "w1", PodLog({4})}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "w1");
  EXPECT_EQ(report.class_(), "capacity");
  EXPECT_GT(report.confidence(), 0.9);
  EXPECT_EQ(report.initiator().rank(), 4);
}

TEST(Verdict, AHostWithSeveralSuspectRanksNamesNoneOfThem) {
  const v1::Report report = ReportOn({{"describe.txt", "", kPodKilled}, {"w1.log", "w1", PodLog({4, 5})}, {"w2.log", "w2", "[rank0]: step 1\n"}});
  EXPECT_FALSE(report.initiator().has_rank()) << report.DebugString();
}

TEST(Verdict, TheOnlyRankOfTheCulpritsHostIsRoot) {
  const auto log = [](int rank, int world) { return Cat("dist_world_size=", world, "\n[10:00:00] [rank ", rank, "] INFO step 1\n"); };
  const std::string lost = "I0312 04:22:01.200000 70 t.py:1] x\njaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.9:8476: Failed to connect to remote host: Connection refused\n";
  const std::vector<LogText> logs = {{"describe.txt", "", kPodKilled}, {"w1.log", "w1", log(0, 2)}, {"w2.log", "w2", log(1, 2) + lost}};
  const v1::Report report = ReportOn(logs);
  ASSERT_EQ(report.initiator().host(), "w1") << report.DebugString();
  EXPECT_EQ(RoleOf(report, 0), "root");
  EXPECT_NE(RoleOf(report, 1), "root");
  // Of two, and where another one may be there, none is.
  EXPECT_EQ(RoleOf(ReportOn({logs[0], logs[1], logs[2], {"w1-b.log", "w1", log(2, 3)}}), 0), "no_evidence");
  EXPECT_EQ(RoleOf(ReportOn({logs[0], {"w1.log", "w1", log(0, 3)}, logs[2]}), 0), "no_evidence");
}

// --- the line of the place that is named
TEST(Verdict, AFaultThatMovesToTheHostThatWarnedTakesItsRootFromThere) {
  const auto mesh = [](int rank) {
    return Cat("[rank", rank, "]:[E1105 09:41:07.100000000 ProcessGroupGloo.cpp:143] Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error\n");
  };
  const std::string warning = "[rank2]:[W1105 09:41:05.100000000 ProcessGroupGloo.cpp:715] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME. (function operator())\n";
  const v1::Report report = ReportOn({{"a.log", "na", mesh(0) + mesh(1)}, {"b.log", "nb", warning + mesh(2) + mesh(3)}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "nb");
  EXPECT_EQ(report.root().host(), "nb");
  EXPECT_EQ(report.first_warning().host(), "nb");
  EXPECT_EQ(RoleOf(report, 0), "collateral");
  EXPECT_EQ(RoleOf(report, 3), "root");
}

TEST(Verdict, TheLineOfAPeerIsNotCalledTheHostsOwn) {
  const auto refused = [](const char* host, int rank) {
    return Cat(host, ":900:950 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.", rank + 1, "<0>\n[rank", rank, "]: step 1\n", host,
               ":900:950 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.0.3<39041> failed : No route to host\n");
  };
  const v1::Report report = ReportOn({{"a.log", "na", refused("na", 0)},
                                      {"b.log", "nb", refused("nb", 1)},
                                      {"c.log", "nc", "nc:900:950 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>\n[rank2]: step 1\n"}});
  ASSERT_GE(report.hypotheses_size(), 1) << report.DebugString();
  ASSERT_EQ(report.hypotheses(0).initiator().host(), "nc") << report.DebugString();
  for (const std::string& line : report.hypotheses(0).evidence_for()) EXPECT_EQ(line.find("its own line"), std::string::npos) << line;
}

// --- a line without a rank beside the rank's own
TEST(Verdict, ABusErrorWithoutARankIsOfTheRankWhoseWorkerEndedSo) {
  const std::string log =
      "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
      "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"t.py\", line 3, in <module>\n"
      "[rank5]: RuntimeError: DataLoader worker (pid 8121) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n";
  const v1::Report report = ReportOn({{"n1.log", "n1", "[rank0]: step 1\n[rank1]: step 1\n"}, {"n2.log", "n2", log}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 5) << report.DebugString();
  EXPECT_EQ(report.signature(), "dl.bus_error");
  EXPECT_EQ(RoleOf(report, 5), "root");
}

// --- what stood before memory ran out
TEST(Verdict, AHostWhoseMemoryIsNearlyFullWarnsOfTheKill) {
  const auto log = [](const char* share) { return Cat("[rank0]: step 1\n[watch] cgroup memory 200.0 / 384.0 GiB (52%)\n[watch] cgroup memory 372.6 / 384.0 GiB (", share, "%)\n"); };
  const std::string kernel = Killed("kworker/u4:2", 901, "2026-04-02T23:18:39+0000");
  const auto report = [&](const char* host, const char* share) {
    return ReportOn({{"train.log", host, log(share)}, {"kern.log", "w3", kernel, SourceInfo::Kind::kKernelLog}});
  };
  ASSERT_EQ(report("w3", "97").verdict(), "named") << report("w3", "97").DebugString();
  EXPECT_NE(report("w3", "97").first_warning().text().find("(97%)"), std::string::npos);
  // Half full is usual, and another host's memory is not this one's.
  EXPECT_EQ(report("w3", "60").first_warning().source(), "kern.log");
  EXPECT_EQ(report("w4", "97").first_warning().source(), "kern.log");
}

// --- ranks that disagree about a collective
TEST(Verdict, TheRankWhoseCollectiveDiffersFromThatOfTheManyIsTheOddOne) {
  const auto print = [](int rank, int odd) {
    return Cat("Rank ", rank, " is running collective: CollectiveFingerPrint(SequenceNumber=31, OpType=ALLREDUCE, TensorShape=[",
               rank == odd ? 512 : 640, "], TensorDtypes=Float)");
  };
  const auto log = [&](int world, int odd) {
    std::string out;
    for (int rank = 0; rank < world; ++rank) {
      out += Cat("[rank", rank, "]: Traceback (most recent call last):\n[rank", rank, "]:   File \"t.py\", line 3, in <module>\n[rank", rank,
                 "]: RuntimeError: Detected mismatch between collectives on ranks. ", print(rank, odd), ", but ",
                 print(rank == odd ? (odd + 1) % world : odd, odd), ".\n");
    }
    return out;
  };
  for (int odd : {0, 2}) {
    const v1::Report report = ReportOn(log(4, odd));
    ASSERT_EQ(report.verdict(), "named") << report.DebugString();
    EXPECT_EQ(report.initiator().rank(), odd);
  }
  // Of two nobody is the odd one.
  EXPECT_FALSE(ReportOn(log(2, 0)).has_initiator());
}

// --- lines without a rank beside those of ranks
TEST(Verdict, WhatAProgramLogsAndSurvivesIsNotTheRanksThatEnded) {
  const std::string report_of_launcher =
      "E0202 09:01:01.000000 7 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 5 (pid: 25) of binary: /usr/bin/python\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : 2026-02-02_09:01:01\n  host      : n9\n  rank      : 5 (local_rank: 5)\n"
      "  exitcode  : 1 (pid: 25)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n";
  for (const char* level : {"WARNING", "INFO"}) {
    const v1::Report report = ReportOn(
        Cat("2026-02-02 08:00:00,100 ", level, " out of memory in step 41, retrying: CUDA out of memory. Tried to allocate 1.00 GiB.\n",
            "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"t.py\", line 3, in <module>\n",
            "[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n", report_of_launcher));
    EXPECT_EQ(report.initiator().rank(), 5) << level;
    EXPECT_EQ(report.class_(), "hardware") << level << report.DebugString();
  }
}

TEST(Verdict, ALineBesideSeveralRanksThatRaisedIsNotTheFirstOnes) {
  std::string log = "../aten/src/ATen/native/cuda/Indexing.cu:1369: indexSelectLargeIndex: block: [1,0,0], thread: [3,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n";
  for (int rank = 0; rank < 4; ++rank) {
    log += Cat("[rank", rank, "]: Traceback (most recent call last):\n[rank", rank, "]:   File \"t.py\", line 3, in <module>\n[rank", rank,
               "]: RuntimeError: CUDA error: device-side assert triggered\n");
  }
  log += "E0202 09:01:01.000000 7 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 1 (pid: 25) of binary: /usr/bin/python\n";
  const v1::Report report = ReportOn(log);
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_FALSE(report.initiator().has_rank()) << report.DebugString();
}

TEST(Verdict, AnExceptionWithoutARankIsOfTheOnlyTaskThatLeftItsCode) {
  const v1::Report report = ReportOn(
      "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nKeyError: 'a17'\n"
      "srun: error: n1: tasks 0-1: Aborted (core dumped)\nsrun: error: n3: task 5: Exited with exit code 1\nsrun: error: n3: task 4: Terminated\n");
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 5);
  EXPECT_EQ(RoleOf(report, 5), "root");
}

// --- causes that a process has by itself
TEST(Verdict, AFileThatIsNotThereIsACauseWhereNobodyCaughtIt) {
  const std::string raised = "FileNotFoundError: [Errno 2] No such file or directory: '/data/index.json'\n";
  const v1::Report report = ReportOn(Cat("[rank2]: Traceback (most recent call last):\n[rank2]:   File \"t.py\", line 3, in <module>\n[rank2]: ", raised));
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 2);
  EXPECT_NE(ReportOn(Cat("[rank2]: 2026-02-02 08:00:00,100 WARNING no cache: ", raised)).verdict(), "named");
}

TEST(Verdict, ANameThatDoesNotResolveIsTheMatterOfWhoAsks) {
  const v1::Report report = ReportOn({
      {"w0.log", "w0", "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"t.py\", line 3, in <module>\n"
                       "[rank0]: torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 clients joined.\n"},
      {"w1.log", "w1", "[W212 10:00:01.551201991 socket.cpp:697] [c10d] The IPv6 network addresses of (w0, 23456) cannot be retrieved "
                       "(gai error: -2 - Name or service not known).\n"}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "w1");
}

// --- ends from outside
TEST(Verdict, AnInterruptOfTheLauncherIsTheOperators) {
  const auto log = [](const char* signal) {
    return Cat("[rank0]: step 1\nW0303 10:11:12.100000 70 torch/distributed/elastic/agent/server/api.py:723] Received ", signal,
               " death signal, shutting down workers\n");
  };
  const v1::Report report = ReportOn(log("2"));
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.class_(), "scheduler");
  EXPECT_FALSE(report.initiator().has_rank());
  // Who sends a SIGTERM, and why, no such line says.
  EXPECT_EQ(ReportOn(log("15")).verdict(), "undetermined");
}

TEST(Verdict, LimitsOfPbsAndLsfAreTheSchedulersOrTheMemorys) {
  struct Row {
    const char* line;
    const char* word;
  };
  constexpr Row kRows[] = {{"=>> PBS: job killed: walltime 7230 exceeded limit 7200", "scheduler"},
                           {"=>> PBS: job killed: mem 104857704kb exceeded limit 104857600kb", "capacity"},
                           {"TERM_RUNLIMIT: job killed after reaching LSF run time limit.", "scheduler"},
                           {"TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", "capacity"}};
  for (const auto& [line, word] : kRows) {
    const v1::Report report = ReportOn(Cat("[rank0]: step 1\n[rank1]: step 1\n", line, "\nExited with exit code 140.\n"));
    EXPECT_EQ(report.class_(), word) << line;
    EXPECT_FALSE(report.initiator().has_rank()) << line;
  }
  // The code alone says that the job failed, and not why.
  EXPECT_EQ(ReportOn("[rank0]: step 1\nExited with exit code 1.\n").verdict(), "undetermined");
}

// --- a world that no log can show
TEST(Verdict, AClaimedWorldSizeCostsNothing) {
  const std::string failure = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.02 GiB is free.\n"
      "[rank5]:[E304 22:01:25.123456789 ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n";
  for (const char* world : {"1000000", "2147483647"}) {
    const v1::Report report = ReportOn(Cat("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/", world, "\n(3/", world, ") step 1\n", failure));
    EXPECT_EQ(report.initiator().rank(), 3) << world;
    EXPECT_LE(report.ranks_size(), 20'000) << world;
    if (report.completeness().world_size() == 1'000'000) {
      const auto& problems = report.completeness().input_problems();
      EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [](const std::string& problem) {
        return problem.find("983613 more expected ranks left no line") == 0;
      })) << report.completeness().DebugString();
    }
  }
}

}  // namespace
}  // namespace firstfault
