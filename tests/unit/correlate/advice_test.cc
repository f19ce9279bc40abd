// What is advised, and what is not because it is on already.
#include "correlate/advice.h"

#include <gtest/gtest.h>

#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

constexpr char kOom[] =
    "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 1 has a total "
    "capacity of "
    "79.15 GiB of which 1.44 GiB is free. Of the allocated memory 66.00 GiB is allocated by PyTorch, and "
    "9.00 GiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n";

std::string ChangesFor(const std::string& log) { return AdviceOf(ReportOn(log)); }

TEST(Advice, ASettingThatTheFaultItselfProposesIsNotOn) {
  const std::string changes = ChangesFor(kOom);
  EXPECT_EQ(changes.find("already on"), std::string::npos) << changes;
  EXPECT_NE(changes.find("expandable_segments"), std::string::npos) << changes;
}

TEST(Advice, ASettingThatTheLogShowsIsNotProposedAgain) {
  const std::string changes =
      ChangesFor(std::string("env: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n") + kOom);
  EXPECT_NE(changes.find("already on"), std::string::npos) << changes;
}

TEST(Advice, WhatTheLogDoesNotShowIsNotSpokenOf) {
  std::string shared = kOom;
  const std::string in_use =
      "Process 4711 has 9.25 GiB memory in use. Including non-PyTorch memory, this process has 68.00 GiB "
      "memory in use. ";
  shared.insert(shared.find("Of the allocated"), in_use);
  EXPECT_EQ(ChangesFor(kOom).find('<'), std::string::npos) << ChangesFor(kOom);
  EXPECT_EQ(ChangesFor(kOom).find("process that holds"), std::string::npos) << ChangesFor(kOom);
  EXPECT_NE(ChangesFor(shared).find("4711"), std::string::npos) << ChangesFor(shared);
}

constexpr char kStep[] = "[rank1]: step 7 loss 2.1\n";
constexpr char kXid31[] =
    "[ 101.000000] NVRM: Xid (PCI:0000:46:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE "
    "GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f12_34560000. Fault is of type FAULT_PDE ACCESS_TYPE_READ\n";

TEST(Advice, AHostIsLeftOutOnlyForWhatIsItsOwn) {
  // The program's fault: neither the node nor its device goes out of service.
  const v1::Report program = ReportOn({{"dmesg", "n01", kXid31, SourceInfo::Kind::kKernelLog}});
  ASSERT_EQ(program.class_(), "software");
  EXPECT_EQ(program.advice().drain_size(), 0);
  EXPECT_EQ(AdviceOf(program).find("out of service"), std::string::npos) << AdviceOf(program);
  // A service outside answers too slowly.
  const v1::Report service = ReportOn({{"n01.log", "n01",
                                        "[rank5]: Traceback (most recent call last):\n[rank5]: huggingface_hub.errors.HfHubHTTPError: 429 "
                                        "Client Error: Too Many Requests for url: https://huggingface.co/api/models/a\n"}});
  ASSERT_EQ(service.signature(), "hf.rate_limit");
  EXPECT_EQ(service.advice().drain_size(), 0);
  EXPECT_EQ(service.restart().find("without the named"), std::string::npos) << service.restart();
}

TEST(Advice, AControlCommandIsFilledInWhereTheLogsKnow) {
  const v1::Report report = ReportOn({{"n01.log", "n01",
                                       "[rank0]: RuntimeError: The server socket has failed to listen on any local network address. port: 23456, "
                                       "useIpv6: 0, code: -98, name: EADDRINUSE, message: address already in use\n"}});
  ASSERT_EQ(report.signature(), "store.bind");
  EXPECT_NE(report.advice().control_command().find("nc -zv n01 23456"), std::string::npos) << report.advice().control_command();
}

TEST(Advice, AControlIsOfASchedulerThatIsHeard) {
  const std::string preempted = "2026-02-03T07:13:00Z compute.instances.preempted zone=us-central1-a vm-17\n";
  const v1::Report cloud = ReportOn(preempted);
  ASSERT_EQ(cloud.signature(), "cloud.spot");
  EXPECT_EQ(cloud.DebugString().find("kubectl"), std::string::npos) << cloud.DebugString();
  EXPECT_NE(cloud.advice().control_command().find("gcloud compute operations list"), std::string::npos) << cloud.advice().control_command();
  const v1::Report pod = ReportOn(preempted + "Warning  NodeNotReady  pod/trainer-0  Node is not ready\n");
  EXPECT_NE(pod.advice().control_command().find("kubectl"), std::string::npos) << pod.DebugString();
}

TEST(Advice, TextThatAShellWouldActOnStaysOutOfCommands) {
  const v1::Report report = ReportOn("[rank0]: PermissionError: [Errno 13] Permission denied: '/data/$(reboot)'\n");
  ASSERT_EQ(report.signature(), "os.eacces");
  EXPECT_EQ(report.advice().control_command().find("reboot"), std::string::npos) << report.advice().control_command();
  EXPECT_NE(report.advice().control_command().find("\"$TARGET\""), std::string::npos) << report.advice().control_command();
}

TEST(Advice, ARestartIsFromACheckpointOnlyWhereThereWereSteps) {
  const std::string fault = "[rank1]: KeyError: 'pixel_values'\n";
  EXPECT_NE(ReportOn(fault).restart().find("start again"), std::string::npos) << ReportOn(fault).restart();
  EXPECT_NE(ReportOn(kStep + fault).restart().find("from the last checkpoint"), std::string::npos) << ReportOn(kStep + fault).restart();
}

TEST(Advice, TheSameIsNotSaidTwice) {
  const std::string advice = AdviceOf(ReportOn({{"dmesg", "n01",
                                                 "[ 1.0] Out of memory: Killed process 4711 (python) total-vm:368441768kB, anon-rss:241893004kB, "
                                                 "file-rss:68112kB\n",
                                                 SourceInfo::Kind::kKernelLog}}));
  EXPECT_NE(advice.find("num_workers"), std::string::npos) << advice;
  EXPECT_EQ(advice.find("Use less host memory, or allow more"), std::string::npos) << advice;
  EXPECT_EQ(advice.find("--shm-size"), std::string::npos) << advice;
}

}  // namespace
}  // namespace firstfault
