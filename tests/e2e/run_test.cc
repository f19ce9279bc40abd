// `firstfault run`: what passes through it, what it answers, and real torchrun jobs under it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "correlate/text.h"
#include "tests/e2e/programs.h"

namespace firstfault::e2e {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out, err;
};

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class RunTest : public testing::Test {
 protected:
  Outcome Run(const std::string& flags_and_command, const std::string& before = "") const {
    const Result result = Shell(Cat("unset FIRSTFAULT_COORDINATOR; export TMPDIR=", scratch_.path().string(), "; ", before, " ",
                                    FIRSTFAULT_BINARY, " run ", flags_and_command, " >", Path("out"), " 2>", Path("err")));
    return {result.code, ReadFile(Path("out")), ReadFile(Path("err"))};
  }
  std::string Path(const std::string& name) const { return (scratch_.path() / name).string(); }
  void WriteFile(const std::string& name, const std::string& text) const { std::ofstream(Path(name), std::ios::binary) << text; }

  const Scratch scratch_;
};

TEST_F(RunTest, OutputAndExitCodePassThrough) {
  const Outcome fine = Run("-- sh -c 'echo out; echo err >&2'");
  EXPECT_EQ(fine.code, 0);
  EXPECT_EQ(fine.out, "out\n");
  EXPECT_EQ(fine.err, "err\n");
  const Outcome failed = Run("-- sh -c 'echo out; exit 7'");
  EXPECT_EQ(failed.code, 7);
  EXPECT_EQ(failed.out, "out\n");
  EXPECT_EQ(Run("-- no-such-command").code, 127);
  EXPECT_EQ(Run("").code, 64);
  EXPECT_EQ(Run("--no-such-flag -- true").code, 64);
}

TEST_F(RunTest, BytesPassUnchanged) {
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 256));
  WriteFile("bytes", bytes);
  EXPECT_TRUE(Run(Cat("-- cat ", Path("bytes"))).out == bytes);
  // Standard input is the launcher's.
  EXPECT_TRUE(Run("-- cat", Cat("cat ", Path("bytes"), " |")).out == bytes);
}

TEST_F(RunTest, ATerminalStaysOne) {
  if (Shell("command -v script").code != 0) GTEST_SKIP() << "no script(1)";
  const Result result = Shell(Cat("TMPDIR=", scratch_.path().string(), " script -qec \"", FIRSTFAULT_BINARY, " run -- sh -c 'test -t 1 && test -t 2 && echo yes'\" /dev/null </dev/null"));
  EXPECT_EQ(result.out, "yes\r\n");
}

TEST_F(RunTest, SignalsReachTheLauncher) {
  Child run({FIRSTFAULT_BINARY, "run", "--", "sh", "-c", Cat("trap 'echo told; exit 9' TERM; touch ", Path("ready"), "; while :; do sleep 0.05; done")});
  for (int i = 0; i < 200 && !fs::exists(Path("ready")); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(run.End(SIGTERM), 9);
}

TEST_F(RunTest, WhatTheLauncherLeavesBehindDoesNotHoldUp) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Run("-- sh -c 'sleep 30 & exit 0'").code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST_F(RunTest, AFailedJobIsNamed) {
  WriteFile("job.sh",
            "echo '[rank0]: iter 1: loss 2.5'\n"
            "echo '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 1 has a total capacity of "
            "79.11 GiB of which 1.87 GiB is free. Including non-PyTorch memory, this process has 71.20 GiB memory in use.' >&2\n"
            "exit 1\n");
  const Outcome failed = Run(Cat("--keep ", Path("kept"), " -- sh ", Path("job.sh")));
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("rank 1"), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("oom.torch"), std::string::npos) << failed.err;
  EXPECT_EQ(failed.out, "[rank0]: iter 1: loss 2.5\n");
  EXPECT_TRUE(fs::exists(Path("kept/launcher.err")));
  EXPECT_EQ(Run(Cat("--exit-verdict -- sh ", Path("job.sh"))).code, 10);
  // Nothing is left in the temporary folder.
  for (const auto& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("firstfault_run_")) << entry.path();
  }
}

TEST_F(RunTest, ACoordinatorElsewhereKeepsTheJob) {
  Coordinator coordinator(scratch_.path() / "data");
  EXPECT_EQ(Run(Cat("--coordinator ", coordinator.address(), " --job j-1 -- sh -c 'echo [rank0]: MemoryError; exit 3'")).code, 3);
  const Result why = Why(coordinator.address(), "j-1 --json --wait final");
  const v1::Report report = ParseReport(why.out);
  EXPECT_EQ(report.state().state(), "failed");
  EXPECT_EQ(report.state().finality(), "final");
  // An unreachable one costs the verdict, not the job.
  coordinator.End(SIGTERM);
  EXPECT_EQ(Run(Cat("--coordinator ", coordinator.address(), " -- sh -c 'exit 4'")).code, 4);
}

struct Scenario {
  const char* fault;
  const char* rank;  // empty: no failure
  const char* root;
};
constexpr Scenario kScenarios[] = {
    {"exception", "1", "expected sequence of length 512"},
    {"none", "", ""},
};

TEST_F(RunTest, RealTorchrunJobs) {
  if (Shell("/usr/bin/python3 -c 'import torch.distributed'").code != 0) GTEST_SKIP() << "no python3-torch";
  const std::string folder = FIRSTFAULT_SOURCE_DIR "/tests/e2e/torchrun";
  for (const Scenario& scenario : kScenarios) {
    SCOPED_TRACE(scenario.fault);
    const Outcome outcome = Run(Cat("--keep ", Path(scenario.fault), " -- /usr/bin/python3 ", folder, "/launch.py --standalone --nproc_per_node 2 --tee 3 ", folder, "/train.py"),
                                Cat("cd ", scratch_.path().string(), "; TRUTH=truth.json OMP_NUM_THREADS=1 GROUP_TIMEOUT=10 FAULT=", scenario.fault, " FAULT_RANK=1"));
    EXPECT_EQ(outcome.code != 0, *scenario.rank != '\0') << outcome.err;
    if (*scenario.rank == '\0') continue;
    const size_t verdict = outcome.err.rfind(Cat("rank ", scenario.rank, " "));
    EXPECT_NE(verdict, std::string::npos) << outcome.err.substr(outcome.err.size() - std::min<size_t>(outcome.err.size(), 3000));
    EXPECT_NE(outcome.err.find(scenario.root), std::string::npos);
    const Result offline = Shell(Cat("cd ", Path(scenario.fault), " && ", FIRSTFAULT_BINARY, " diagnose --one-line launcher.*"));
    EXPECT_NE(offline.out.find(Cat("rank ", scenario.rank)), std::string::npos) << offline.out;
  }
}

}  // namespace
}  // namespace firstfault::e2e
