// Suspects that print no fault: who stopped, who stood elsewhere, who alone was silent, who alone had warned.
#include <gtest/gtest.h>

#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

// Steps of every rank under torchrun's tag; `remark` of one rank among them.
std::string Steps(int world, int remarking = -1, const std::string& remark = "") {
  std::string out;
  for (int step = 0; step < 3; ++step) {
    for (int rank = 0; rank < world; ++rank) {
      const std::string head = "[default" + std::to_string(rank) + "]:2026-03-01 10:00:0" + std::to_string(step) + ",100 ";
      const std::string tag = " [rank " + std::to_string(rank) + "/" + std::to_string(world) + "] ";
      if (step == 1 && rank == remarking) out += head + "WARNING" + tag + remark + "\n";
      out += head + "INFO" + tag + "step " + std::to_string(step) + "\n";
    }
  }
  return out;
}

std::string Raise(int rank, const std::string& call, const std::string& error) {
  const std::string tag = "[default" + std::to_string(rank) + "]:";
  return tag + "Traceback (most recent call last):\n" + tag +
         "  File \"/opt/lib/torch/distributed/distributed_c10d.py\", line 9, in " + call + "\n" + tag + "    work.wait()\n" + tag +
         error + "\n";
}
const std::string kTimedOut = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 10000ms for recv operation to complete";
const std::string kClosed = "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:30104";

std::string Agent(int rank, int exit_code, const std::string& why) {
  const std::string local = std::to_string(rank), code = std::to_string(exit_code);
  return "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: " + code + ") local_rank: " + local +
         " (pid: 77) of binary: /usr/bin/python3\n"
         "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
         "=====================\ntrain.py FAILED\n---------------------\nFailures:\n  <NO_OTHER_FAILURES>\n---------------------\n"
         "Root Cause (first observed failure):\n[0]:\n  time      : 2026-03-01_10:00:13\n  host      : n01\n  rank      : " + local +
         " (local_rank: " + local + ")\n  exitcode  : " + code + " (pid: 77)\n  error_file: <N/A>\n  traceback : " + why +
         "\n=====================\n";
}

int RankOf(const v1::Report& report) {
  return report.verdict() == "named" && report.initiator().has_rank() ? report.initiator().rank() : -1;
}

TEST(Silent, AnExitCodeOfItsOwnWithoutAWord) {
  const v1::Report report = ReportOn(Steps(4) + Raise(0, "all_reduce", kClosed) + Raise(3, "all_reduce", kClosed) + Agent(2, 3, "see"));
  EXPECT_EQ(RankOf(report), 2);
  EXPECT_EQ(report.signature(), "derived.exited");
  // The code of an uncaught exception says nothing of the kind.
  EXPECT_EQ(RankOf(ReportOn(Steps(4) + Raise(0, "all_reduce", kClosed) + Agent(2, 1, "see"))), -1);
}

TEST(Silent, ToldToStopWhenNobodyElseWas) {
  const std::string log = Steps(4) + Raise(0, "all_reduce", kClosed) + Agent(3, -15, "Signal 15 (SIGTERM) received by PID 77");
  const v1::Report report = ReportOn(log);
  EXPECT_EQ(RankOf(report), 3);
  EXPECT_EQ(report.signature(), "derived.stopped");
  // Where the launcher was told as well, somebody stopped the job.
  EXPECT_NE(ReportOn("WARNING:torch.distributed.elastic.agent.server.api:Received Signals.SIGTERM death signal, shutting down workers\n" + log)
                .signature(),
            "derived.stopped");
}

TEST(Silent, TheOneInAnotherCollective) {
  std::string log = Steps(4);
  for (const int rank : {0, 1, 3}) log += Raise(rank, "all_reduce", kTimedOut);
  const v1::Report report = ReportOn(log + Raise(2, "barrier", kTimedOut));
  EXPECT_EQ(RankOf(report), 2);
  EXPECT_EQ(report.signature(), "derived.other_operation");
  // One against one: either may have left the common path.
  EXPECT_EQ(RankOf(ReportOn(Steps(2) + Raise(0, "all_reduce", kTimedOut) + Raise(1, "barrier", kTimedOut))), -1);
}

TEST(Silent, ARankThatSawItsPeerLeaveIsNotSilent) {
  const std::string log = Steps(4) + Raise(0, "all_reduce", kClosed) + Raise(1, "all_reduce", kTimedOut) + Raise(3, "all_reduce", kTimedOut);
  EXPECT_EQ(RankOf(ReportOn(log)), 2);
}

TEST(Silent, ANanIsPlacedByTheOnlyRankThatWarned) {
  const std::string nan = "FloatingPointError: loss is nan at step 3";
  std::string raised;
  for (int rank = 0; rank < 4; ++rank) raised += Raise(rank, "all_reduce", nan);
  const v1::Report report = ReportOn(Steps(4, 1, "local gradients hold inf values") + raised);
  EXPECT_EQ(RankOf(report), 1);
  EXPECT_NE(report.first_warning().text().find("local gradients"), std::string::npos);
  EXPECT_EQ(RankOf(ReportOn(Steps(4) + raised)), -1);
  // Only rank 0 logs its steps: the others would have warned unheard.
  EXPECT_EQ(RankOf(ReportOn(Steps(1, 0, "local gradients hold inf values") + raised)), -1);
}

TEST(Silent, WhatSeveralRaiseIsNotTheLaunchersFirst) {
  // No line tells its rank; the launcher quotes one of them.
  const std::string one = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nKeyError: 'label'\n";
  const std::string agent = Agent(2, 1, "see");
  EXPECT_EQ(RankOf(ReportOn(one + agent)), 2);
  EXPECT_EQ(RankOf(ReportOn(one + one + one + one + agent)), -1);
}

std::string Waits(int rank, int number, const std::string& operation, const std::string& group) {
  const std::string n = std::to_string(number), r = std::to_string(rank);
  const std::string tag = "[rank" + r + "]:[E703 02:05:00.001000000 ProcessGroupNCCL.cpp:616] ";
  return tag + "[Rank " + r + "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + n + ", OpType=" + operation +
         ", NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n" + tag + "[PG ID 7 PG GUID 33(" + group +
         ") Rank " + r + "] Exception (either an error or timeout) detected by watchdog at work: " + n + ", last enqueued NCCL work: " + n +
         ", last completed NCCL work: " + std::to_string(number - 1) + ".\n";
}

TEST(Silent, NumbersOfSendsAndReceivesDoNotCompare) {
  const v1::Report report = ReportOn(Waits(0, 3602, "RECV", "pp") + Waits(1, 3603, "SEND", "pp") + Waits(2, 3603, "RECV", "pp") + Waits(3, 1801, "RECV", "pp"));
  EXPECT_EQ(report.verdict(), "undetermined") << report.DebugString();
  EXPECT_EQ(report.suspects_size(), 0) << report.DebugString();
}

// A rank's last numbers in one group, told under that group's tag.
std::string Detects(int rank, const std::string& id, const std::string& guid, int number) {
  const std::string n = std::to_string(number), r = std::to_string(rank);
  return "[rank" + r + "]:[E703 02:05:00.001000000 ProcessGroupNCCL.cpp:1785] [PG ID " + id + " PG GUID " + guid + " Rank " + r +
         "] Exception (either an error or timeout) detected by watchdog at work: " + n + ", last enqueued NCCL work: " + n +
         ", last completed NCCL work: " + std::to_string(number - 1) + ".\n";
}

TEST(Silent, WhoIsBehindAndWaitsInAnotherGroupIsHeldUpThere) {
  std::string log = Steps(4);
  for (int rank : {0, 1, 2}) log += Detects(rank, "0", "0(default_pg)", 42);
  log += Detects(3, "0", "0(default_pg)", 40);
  EXPECT_EQ(RankOf(ReportOn(log)), 3);
  const v1::Report report = ReportOn(log + "[rank3]:[E703 02:04:59.001000000 ProcessGroupNCCL.cpp:616] [PG ID 4 PG GUID 9(tp) Rank 1] Watchdog caught collective operation timeout: "
                                           "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n");
  EXPECT_EQ(RankOf(report), -1) << report.DebugString();
}

TEST(Silent, GroupsThatShareALocalIdDoNotCompare) {
  std::string log = Steps(4);
  for (int rank : {0, 1, 2}) log += Detects(rank, "7", "33(pp)", 42);
  EXPECT_EQ(ReportOn(log + Detects(3, "7", "34(pp)", 40)).suspects_size(), 0);
}

// --- complaints that lead on
TEST(Silent, ARankThatComplainsOfAnotherHandsItsComplaintsOn) {
  const std::string first = "[rank0]: RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 60000 ms\n";
  const auto lags = [](int rank, int who) {
    return "[rank" + std::to_string(rank) + "]: To our best knowledge, ranks [" + std::to_string(who) + "] are the lagging ranks that caused this timeout. They never joined any collectives\n";
  };
  const v1::Report report = ReportOn(Steps(4) + first + lags(1, 2) + lags(3, 2));
  EXPECT_EQ(RankOf(report), 2) << report.DebugString();
  // A circle has no end.
  EXPECT_EQ(RankOf(ReportOn(Steps(4) + first + lags(1, 2) + lags(3, 2) + lags(2, 1))), -1);
}

LogText HostLog(const std::string& host, int rank, const std::string& lost) {
  const std::string r = std::to_string(rank);
  std::string text = "rank " + r + "/4 pid 9" + r + " host " + host + " local_rank 0\n[rank" + r + "]: step 1\n";
  if (!lost.empty()) {
    text += "[rank" + r + "]:[E820 19:30:00.100000000 ProcessGroupNCCL.cpp:616] [Rank " + r + "] Collective WorkNCCL(SeqNum=33120, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) "
            "raised the following async exception: NCCL error: remote process exited or there was a network error\n"
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\n"
            "socketProgress: Connection closed by remote peer " + lost + "<50122>\n";
  }
  return {host + ".log", host, text};
}

TEST(Silent, BrokenConnectionsThatLeadToOneQuietHost) {
  const LogText a = HostLog("node-a", 0, "node-d"), b = HostLog("node-b", 1, "node-a"), c = HostLog("node-c", 2, "node-a");
  const v1::Report report = ReportOn({a, b, c, HostLog("node-d", 3, "")});
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "node-d");
  EXPECT_EQ(report.class_(), "undetermined");
  EXPECT_EQ(RoleOf(report, 3), "root");
  EXPECT_EQ(RoleOf(report, 0), "collateral");
  // It complains as well: a circle. Its log was not read: what it says is not known. One complaint is not enough.
  EXPECT_EQ(ReportOn({a, b, c, HostLog("node-d", 3, "node-b")}).verdict(), "undetermined");
  EXPECT_EQ(ReportOn({a, b, c}).verdict(), "undetermined");
  EXPECT_EQ(ReportOn({a, HostLog("node-b", 1, ""), HostLog("node-d", 3, "")}).verdict(), "undetermined");
  // Two ends.
  EXPECT_EQ(ReportOn({a, HostLog("node-b", 1, "node-c"), HostLog("node-c", 2, ""), HostLog("node-d", 3, "")}).verdict(), "undetermined");
}

// --- a node that is gone, under its own name and under its pod's
TEST(Silent, ALostNodeExplainsTheSilentRankOfItsPod) {
  const auto pod = [](int rank, bool waits) {
    const std::string r = std::to_string(rank);
    return LogText{"pt-worker-" + r + ".log", "pt-worker-" + r,
                   "HOSTNAME=pt-worker-" + r + " RANK=" + r + " WORLD_SIZE=3\n[rank" + r + "]: step 1\n" + (waits ? Waits(rank, 91, "ALLREDUCE", "default_pg") : "")};
  };
  const std::string table = "LAST SEEN   TYPE      REASON             OBJECT              MESSAGE\n", ready = "12m   Warning   NodeNotReady       pod/pt-worker-2     Node is not ready\n";
  const auto node = [](const std::string& name) { return "12m   Normal    NodeNotReady       node/" + name + "         Node " + name + " status is now: NodeNotReady\n"; };
  std::vector<LogText> logs = {pod(0, true), pod(1, true), pod(2, false), {"events.txt", "", table + node("gpu-n9") + ready}};
  const v1::Report report = ReportOn(logs);
  ASSERT_EQ(report.verdict(), "named") << report.DebugString();
  EXPECT_EQ(report.initiator().host(), "pt-worker-2");
  EXPECT_EQ(report.signature(), "k8s.node");
  EXPECT_EQ(report.class_(), "hardware");
  EXPECT_EQ(RoleOf(report, 2), "root");
  // Nodes of which no line tells the pods may be anybody's.
  logs.back().text = table + node("gpu-n9") + node("gpu-n8");
  EXPECT_NE(ReportOn(logs).signature(), "k8s.node");
}

}  // namespace
}  // namespace firstfault
