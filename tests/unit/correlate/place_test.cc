// Where a failure is said to be: from the lines that name a place, and never from two that contradict each other.
#include <gtest/gtest.h>

#include "correlate/text.h"
#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

bool Lists(const v1::Report& report, int32_t rank) {
  for (const v1::Place& place : report.suspects()) {
    if (place.has_rank() && place.rank() == rank) return true;
  }
  return false;
}

// --- Slurm
constexpr const char* kStepCancelled =
    "srun: Terminating StepId=51.0\n"
    "slurmstepd: error: *** STEP 51.0 ON ab1 CANCELLED AT 2026-04-14T08:02:47 ***\n"
    "srun: error: ab2: tasks 4-7: Terminated\n"
    "srun: error: ab1: tasks 0-1,3: Terminated\n";
constexpr const char* kDetected = "slurmstepd: error: Detected 1 oom_kill event in StepId=51.0. Some of the step tasks have been OOM Killed.\n";

TEST(Place, ACancelledStepIsTheEffectOfTheTaskThatRanOutOfMemory) {
  const std::string task = "srun: error: ab1: task 2: Out Of Memory\n";
  for (const std::string& log : {Cat(kDetected, task, kStepCancelled), Cat(task, kStepCancelled, kDetected), Cat(task, kStepCancelled)}) {
    const v1::Report report = ReportOn(log);
    EXPECT_EQ(report.verdict(), "named") << log;
    EXPECT_EQ(report.class_(), "capacity") << log;
    EXPECT_TRUE(report.initiator().has_rank()) << log;
    EXPECT_EQ(report.initiator().rank(), 2) << log;
    EXPECT_EQ(report.initiator().host(), "ab1") << log;
  }
}

TEST(Place, ACancelledStepIsTheEffectOfTheTaskThatWasKilled) {
  const v1::Report report = ReportOn(Cat("srun: error: ab1: task 2: Killed\n", kStepCancelled));
  EXPECT_EQ(report.signature(), "derived.killed") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 2);
  EXPECT_EQ(report.initiator().host(), "ab1");
}

TEST(Place, AnExitWithOneIsASuspectAndNoMore) {
  const v1::Report report = ReportOn(Cat("srun: error: ab1: task 2: Exited with exit code 1\n", kStepCancelled));
  EXPECT_EQ(report.verdict(), "undetermined") << report.DebugString();
  ASSERT_EQ(report.suspects_size(), 1);
  EXPECT_TRUE(Lists(report, 2));
}

TEST(Place, WithAnAgentPerTaskATaskIsAHostAndNoRank) {
  const v1::Report report = ReportOn(Cat(
      kDetected,
      "E0414 08:02:50.516000 60500 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 2 (pid: 60515) of binary: /usr/bin/python3\n"
      "srun: error: ab1: task 0: Out Of Memory\n",
      "srun: Terminating StepId=51.0\n"
      "srun: error: ab2: task 1: Terminated\n"));
  EXPECT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.class_(), "capacity");
  EXPECT_EQ(report.initiator().host(), "ab1");
  EXPECT_FALSE(report.initiator().has_rank());
}

TEST(Place, TheSchedulersDecisionHasNoRank) {
  for (const char* reason : {"TIME LIMIT", "PREEMPTION"}) {
    const v1::Report report = ReportOn(Cat(
        "slurmstepd: error: *** JOB 51 ON ab1 CANCELLED AT 2026-02-03T09:00:21 DUE TO ", reason, " ***\n",
        "[rank9]:[E203 09:00:23.001200300 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 9] Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error\n"
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 9121 got signal: 15\n"
        "srun: error: ab2: task 1: Killed\n"));
    EXPECT_FALSE(report.initiator().has_rank()) << report.DebugString();
    for (const v1::Place& place : report.suspects()) EXPECT_FALSE(place.has_rank()) << reason;
  }
}

// --- an exception that all ranks print, and one raised
std::string Relayed(int printer, int origin) {
  const std::string tag = Cat("[rank", printer, "]: ");
  return Cat(tag, "Traceback (most recent call last):\n", tag, "  File \"/app/t.py\", line 4, in <module>\n", tag,
             "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([", origin, "])\n", tag,
             "Traceback (most recent call last): (RANK ", origin, ")\n", tag, "  File \"/lib/filesystem.py\", line 46, in write\n", tag,
             "OSError: [Errno 28] No space left on device\n");
}

TEST(Place, ARelayedExceptionIsTheRanksThatItNames) {
  for (int origin : {0, 2, 3}) {
    std::string first, second;
    for (int rank : {0, 1}) first += Relayed(rank, origin);
    for (int rank : {2, 3}) second += Relayed(rank, origin);
    const v1::Report report = ReportOn({{"ab1.log", "ab1", first}, {"ab2.log", "ab2", second}});
    ASSERT_EQ(report.verdict(), "named") << report.DebugString();
    EXPECT_TRUE(report.initiator().has_rank());
    EXPECT_EQ(report.initiator().rank(), origin);
    EXPECT_EQ(report.initiator().host(), origin < 2 ? "ab1" : "ab2");
    EXPECT_EQ(report.class_(), "capacity");
    EXPECT_EQ(RoleOf(report, (origin + 1) % 4), "collateral");
  }
}

// --- an exception that no line gives to a rank, and the launcher's report of the ends
constexpr const char* kKeyError = "Traceback (most recent call last):\n  File \"/app/t.py\", line 4, in <module>\nKeyError: 'tokens'\n";

std::string Entry(int rank, int code, int second) {
  return Cat("[", rank, "]:\n  time      : 2026-04-14_08:02:", second, "\n  host      : ab1\n  rank      : ", rank, " (local_rank: ", rank,
             ")\n  exitcode  : ", code, " (pid: ", 500 + rank, ")\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org\n");
}

// Rank 0 is the launcher's first; rank 1 ended with `code` at `second`.
std::string TorchrunReport(int code, int second) {
  return Cat("E0414 08:02:20.516000 400 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 500) of binary: /usr/bin/python3\n"
             "Traceback (most recent call last):\n  File \"/bin/torchrun\", line 8, in <module>\n"
             "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\nt.py FAILED\n----\nFailures:\n", Entry(1, code, second),
             "----\nRoot Cause (first observed failure):\n", Entry(0, 1, 20), "=====\n");
}

TEST(Place, TheLaunchersFirstIsTheFirstOnlyWhereItsTimesSaySo) {
  struct Case {
    int code, second;
    bool first;
  };
  for (const Case& c : {Case{1, 20, false}, Case{1, 21, true}, Case{-15, 20, true}}) {
    const v1::Report report = ReportOn({{"ab1.log", "ab1", Cat(kKeyError, TorchrunReport(c.code, c.second))}});
    EXPECT_EQ(report.root().text(), "KeyError: 'tokens'") << report.DebugString();
    EXPECT_EQ(report.initiator().has_rank(), c.first) << c.code << " " << c.second << report.DebugString();
  }
}

TEST(Place, WhereAsManyRaiseAsEndOneOfThemIsNamed) {
  const LogText peer{"ab2.log", "ab2", "torch.distributed.DistNetworkError: Connection reset by peer\n"};
  EXPECT_FALSE(ReportOn({{"ab1.log", "ab1", Cat(kKeyError, TorchrunReport(1, 20))}, peer}).initiator().has_rank());
  EXPECT_TRUE(ReportOn({{"ab1.log", "ab1", Cat(kKeyError, kKeyError, TorchrunReport(1, 20))}, peer}).initiator().has_rank());
}

TEST(Place, ATaskThatExitsBehindTheOrderToStopMayBeTheOneThatRaised) {
  const std::string log = Cat(kKeyError, "srun: error: ab1: task 2: Exited with exit code 1\n", kStepCancelled);
  EXPECT_EQ(ReportOn(log).initiator().rank(), 2);
  const v1::Report report = ReportOn(Cat(log, "srun: error: ab2: tasks 5-6: Exited with exit code 1\n"));
  EXPECT_FALSE(report.initiator().has_rank()) << report.DebugString();
}

// --- mpirun
constexpr const char* kNoticed = "mpirun noticed that process rank 9 with PID 210 on node ab3 exited on signal 11 (Segmentation fault).\n";
constexpr const char* kPeer = "[ab1:102] *** An error occurred in MPI_Allreduce\n[ab1:102] *** reported by process [1376,2]\n";

TEST(Place, MpirunNamesTheRankAndItsNode) {
  const std::string crash = "[ab3:210] *** Process received signal ***\n[ab3:210] Signal: Segmentation fault (11)\n";
  for (const std::string& log : {std::string(kNoticed), Cat(crash, kNoticed), Cat(crash, kNoticed, kPeer), Cat(crash, kPeer, kNoticed)}) {
    const v1::Report report = ReportOn(log);
    EXPECT_EQ(report.verdict(), "named") << log << report.DebugString();
    EXPECT_EQ(report.initiator().rank(), 9) << log;
    EXPECT_EQ(report.initiator().host(), "ab3") << log;
  }
}

// --- Kubernetes
TEST(Place, KubectlDescribeTellsWhosePodItIs) {
  const v1::Report report = ReportOn(
      {{"describe.txt", "", "Name:             llm-worker-3\nNode:             pool-77\n      Reason:       OOMKilled\n      Exit Code:    137\n"},
       {"llm-worker-1.log", "llm-worker-1",
        "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2328, remote process exited or there was a network error, NCCL version 2.21.5\n"
        "[rank1]: socketProgress: Connection closed by remote peer llm-worker-3.llm<40112>\n"}});
  EXPECT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.signature(), "k8s.oomkilled");
  EXPECT_EQ(report.initiator().host(), "llm-worker-3");
  EXPECT_FALSE(report.initiator().has_rank());
}

constexpr const char* kTwoPods =
    "Name:             tr-worker-0\n    State:          Running\n---\n"
    "Name:             tr-worker-1\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n";

TEST(Place, OfSeveralDescribedPodsItIsTheOneAbove) {
  const v1::Report report = ReportOn({{"describe.txt", "", kTwoPods}});
  EXPECT_EQ(report.signature(), "k8s.oomkilled") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "tr-worker-1");
}

TEST(Place, ACauseWithoutAHostIsNotOnTheHostOfItsEffect) {
  const v1::Report report = ReportOn(
      {{"pods.txt", "", "      Reason:       OOMKilled\n"},
       {"ab1.log", "ab1", "W0414 08:02:39.357000 1 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death signal, shutting down workers\n"}});
  EXPECT_EQ(report.signature(), "k8s.oomkilled") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "");
}

TEST(Place, APodWhoseImageCannotBePulledIsTheOneThatItsEventNames) {
  const LogText waiting{"tr-0.log", "tr-0", "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"};
  for (const char* line : {"15m  Warning  Failed  pod/tr-2  Failed to pull image \"reg/train:2\": 401 Unauthorized\n",
                           "15m  Warning  Failed  pod/tr-2  Error: ErrImagePull\n"}) {
    const v1::Report report = ReportOn({{"events.txt", "", line}, waiting});
    EXPECT_EQ(report.verdict(), "named") << line << report.DebugString();
    EXPECT_EQ(report.signature(), "k8s.start") << line;
    EXPECT_EQ(report.initiator().host(), "tr-2") << line;
  }
}

// --- hosts that are silent, or left
TEST(Place, AHostWithoutATimeOutIsTheSuspectOfTheOthers) {
  std::string a, b;
  for (int rank = 0; rank < 6; ++rank) {
    std::string& log = rank < 3 ? a : b;
    log += Cat(rank < 3 ? "ab1" : "ab2", ":", 100 + rank, ":200 [", rank % 3, "] NCCL INFO ncclCommInitRank comm 0x1 rank ", rank,
               " nranks 6 cudaDev ", rank % 3, " nvmlDev ", rank % 3, " busId ", rank, "b000 commId 0x9 - Init COMPLETE\n");
  }
  for (int rank = 0; rank < 3; ++rank) {
    a += Cat("[rank", rank, "]:[E301 10:10:00.100000000 ProcessGroupNCCL.cpp:616] [Rank ", rank,
             "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n");
  }
  const v1::Report report = ReportOn({{"ab1.log", "ab1", a}, {"ab2.log", "ab2", b}});
  EXPECT_EQ(report.verdict(), "undetermined") << report.DebugString();
  ASSERT_EQ(report.suspects_size(), 1);
  EXPECT_EQ(report.suspects(0).host(), "ab2");
  EXPECT_FALSE(report.suspects(0).has_rank());
}

TEST(Place, TheSilenceOfARankAndOfItsHostCountOnce) {
  std::string a, b = "[rank4]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB.\n";
  for (int rank = 0; rank < 6; ++rank) {
    std::string& log = rank < 4 ? a : b;
    log += Cat(rank < 4 ? "ab1" : "ab2", ":", 100 + rank, ":200 [", rank % 4, "] NCCL INFO ncclCommInitRank comm 0x1 rank ", rank,
               " nranks 6 cudaDev ", rank % 4, " nvmlDev ", rank % 4, " busId ", rank, "b000 commId 0x9 - Init COMPLETE\n");
    if (rank >= 4) continue;
    a += Cat("[rank", rank, "]:[E301 10:10:00.100000000 ProcessGroupNCCL.cpp:616] [Rank ", rank,
             "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n");
  }
  const v1::Report report = ReportOn({{"ab1.log", "ab1", a}, {"ab2.log", "ab2", b}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 4);
  int told = 0;
  for (const std::string& term : report.hypotheses(0).evidence_for()) told += term.find("timed out waiting") != std::string::npos;
  EXPECT_EQ(told, 1) << report.DebugString();
}

TEST(Place, AHostWhoseProcessLeftComesBeforeTheOneThatWaitsForIt) {
  const v1::Report report = ReportOn(
      {{"ab1.log", "ab1", "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 4/8 clients joined.\n"},
       {"ab2.log", "ab2",
        "E0414 08:02:50.516000 60500 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 60515) of binary: /usr/bin/python3\n"}});
  ASSERT_GE(report.hypotheses_size(), 1) << report.DebugString();
  EXPECT_EQ(report.hypotheses(0).initiator().host(), "ab2") << report.DebugString();
}

// --- what the kernel tells of others, or of other times
std::string Init(const char* host, int rank, int ranks) {
  return Cat(host, ":", 100 + rank, ":200 [", rank % 2, "] NCCL INFO ncclCommInitRank comm 0x1 rank ", rank, " nranks ", ranks, " cudaDev ",
             rank % 2, " nvmlDev ", rank % 2, " busId ", rank + 1, "b000 commId 0x9 - Init COMPLETE\n");
}
std::string TimeOut(int rank) {
  return Cat("[rank", rank, "]:[E611 10:40:00.100000000 ProcessGroupNCCL.cpp:616] [Rank ", rank,
             "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n");
}
std::string Steps(int rank, const char* hour) {
  std::string out;
  for (int i = 0; i < 6; ++i) out += Cat("2026-06-11 ", hour, ":1", i, ":00,000 INFO [rank ", rank, "] step ", 10 * i, " loss 2.1\n");
  return out;
}
constexpr char kKill[] = " ab1 kernel: Out of memory: Killed process 98111 (python3) total-vm:126000000kB, anon-rss:96000000kB, file-rss:0kB, "
                         "shmem-rss:0kB, UID:1009 pgtables:812kB oom_score_adj:0\n";

TEST(Place, AKillWhoseHostLostNobodyIsANeighbours) {
  std::string a, b;
  for (int rank = 0; rank < 4; ++rank) (rank < 2 ? a : b) += Init(rank < 2 ? "ab1" : "ab2", rank, 4);
  for (int rank = 0; rank < 4; ++rank) (rank < 2 ? a : b) += TimeOut(rank);
  a += "E0611 10:41:00.100000 90 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 1 (pid: 101) of binary: /usr/bin/python3\n";
  const v1::Report report = ReportOn({{"ab1.log", "ab1", a}, {"ab2.log", "ab2", b}, {"kern.log", "ab1", std::string("Jun 11 10:05:00") + kKill, SourceInfo::Kind::kKernelLog}});
  EXPECT_EQ(report.verdict(), "undetermined") << report.DebugString();
}

TEST(Place, NobodyTrainsOnBehindAKill) {
  std::string a, b;
  for (int rank = 0; rank < 4; ++rank) (rank < 2 ? a : b) += Init(rank < 2 ? "ab1" : "ab2", rank, 4);
  for (int rank = 0; rank < 4; ++rank) (rank < 2 ? a : b) += Steps(rank, "10");
  for (int rank : {0, 1, 3}) (rank < 2 ? a : b) += TimeOut(rank);
  const auto with_kill_at = [&](const char* stamp) {
    return ReportOn({{"ab1.log", "ab1", a}, {"ab2.log", "ab2", b}, {"kern.log", "ab1", std::string(stamp) + kKill, SourceInfo::Kind::kKernelLog}});
  };
  // Before the steps, between them, and days before, in whatever zone.
  for (const char* stamp : {"Jun 11 10:05:00", "Jun 11 10:12:30", "2026-06-08T10:12:30.100000+02:00"}) {
    const v1::Report report = with_kill_at(stamp);
    EXPECT_EQ(report.verdict(), "named") << stamp << report.DebugString();
    EXPECT_EQ(report.initiator().rank(), 2) << stamp;
  }
}

TEST(Place, AnXidOfAGpuThatNoRankHasIsOfAnotherJob) {
  std::string a;
  for (int rank = 0; rank < 4; ++rank) a += Init("ab1", rank, 4);
  for (int rank : {0, 1, 3}) a += TimeOut(rank);
  const char kXid[] = "Jun 11 10:20:00 ab1 kernel: NVRM: Xid (PCI:0000:c1:00): 31, pid=9911, name=python3, Ch 00000010, intr 00000000. MMU Fault\n";
  const v1::Report report = ReportOn({{"ab1.log", "ab1", a}, {"kern.log", "ab1", kXid, SourceInfo::Kind::kKernelLog}});
  EXPECT_EQ(report.initiator().rank(), 2) << report.DebugString();
  EXPECT_NE(report.signature(), "xid.31");
}

TEST(Place, WhoWaitsWithTheOthersBehindAnExceptionHadCaughtIt) {
  const std::string caught =
      "2026-06-11 10:12:00,000 ERROR evaluation of a sample failed, skipping it\n"
      "Traceback (most recent call last):\n  File \"train.py\", line 9, in evaluate\n    loss = model(batch)\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
  std::vector<LogText> logs;
  for (int rank = 0; rank < 4; ++rank) logs.push_back({Cat("attempt_0/", rank, "/stderr.log"), "ab1", Cat(Init("ab1", rank, 4), rank == 1 ? caught : "", TimeOut(rank))});
  EXPECT_EQ(ReportOn(logs).verdict(), "undetermined") << ReportOn(logs).DebugString();
  // Who does not wait had not.
  logs[1].text = Init("ab1", 1, 4) + caught;
  EXPECT_EQ(ReportOn(logs).initiator().rank(), 1) << ReportOn(logs).DebugString();
}

// --- the kernel
TEST(Place, AnXidIsSeenBehindStampsOfAnyLengthAndUnknownPrefixes) {
  const std::string xid = "NVRM: Xid (PCI:0000:db:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n";
  for (const char* prefix : {"2026-06-01T02:14:55.402120+00:00 ab1 kernel: [88356.402] ", "2026-06-01T02:14:55Z ab1 kernel: [88356.4] ",
                             "[88356.402123456] ", "collector#7 kernel<4>; "}) {
    const v1::Report report = ReportOn({{"kern.log", "ab1", prefix + xid, SourceInfo::Kind::kKernelLog}});
    EXPECT_EQ(report.signature(), "xid.79") << prefix << report.DebugString();
    EXPECT_EQ(report.initiator().host(), "ab1") << prefix;
  }
}

// --- names that are none
TEST(Place, ALevelIsNoHost) {
  const v1::Report report = ReportOn({{"ab1.log", "ab1", "2026-10-09T07:03:00.033744252Z INFO loader: CUDA out of memory. Tried to allocate 1.46 GiB\n"}});
  ASSERT_EQ(report.completeness().hosts_seen_size(), 1) << report.DebugString();
  EXPECT_EQ(report.completeness().hosts_seen(0), "ab1");
}

TEST(Place, ARankThatALineSpeaksOfIsNotItsWriter) {
  const v1::Report report = ReportOn(
      {{"task1.log", "ab1",
        "E0611 02:12:21.412104   19274 rendezvous.cc:100] [id=1] This thread has been waiting for `initialize clique for rank 41; clique=devices=[0,1]; "
        "stream=0; run_id=11` for 20 seconds and may be stuck. Expected 4 threads to join the rendezvous, but not all of them arrived on time.\n"}});
  EXPECT_EQ(RoleOf(report, 41), "not listed") << report.DebugString();
}

TEST(Place, LocalhostIsTheHostOfTheLogThatSaysIt) {
  const std::string raised = "Traceback (most recent call last):\n  File \"t.py\", line 7, in <module>\nValueError: sample 4711 has no label\n";
  const std::string launcher =
      "[default2]:" + raised +
      "E0202 09:01:01.000000 7 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 2 (pid: 25) of binary: /usr/bin/python\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : 2026-02-02_09:01:01\n  host      : localhost\n  rank      : 2 (local_rank: 2)\n"
      "  exitcode  : 1 (pid: 25)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n";
  const v1::Report report = ReportOn({{"launcher.err", "n7", launcher}, {"rank2/stderr.log", "n7", raised}});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().rank(), 2);
  EXPECT_EQ(report.initiator().host(), "n7");
  EXPECT_EQ(report.completeness().hosts_seen_size(), 1) << report.completeness().DebugString();
}

TEST(Place, AFileNameIsNoHostWhereItsLinesNameOne) {
  SourceInfo info;
  info.path = "out-55-1.log";
  info.host = Known{"out-55-1", "file name"};
  ScanBuffers buffers;
  SourceScanner scanner(BuiltInEngine(), buffers, info);
  scanner.Feed("ab7:900:950 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\n[rank0]: KeyError: 'tokens'\n");
  const v1::Report report = Correlate(BuiltInEngine(), {scanner.Finish()}, {});
  ASSERT_EQ(report.completeness().hosts_seen_size(), 1) << report.DebugString();
  EXPECT_EQ(report.completeness().hosts_seen(0), "ab7");
}

}  // namespace
}  // namespace firstfault
