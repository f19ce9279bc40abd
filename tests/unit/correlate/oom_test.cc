// Why memory ran out: the sizes of every allocator, and the one answer that follows from them.
#include "correlate/oom.h"

#include <gtest/gtest.h>

#include "correlate/text.h"
#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

struct Row {
  const char* what;
  const char* log;
  const char* answer;
  double short_by;        // GiB; 0: absent
  double held_by_others;  // GiB; 0: absent
};
const Row kRows[] = {
    {"torch 2: full",
     "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total "
     "capacity of 79.15 GiB of "
     "which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.40 GiB memory in use. Of the "
     "allocated memory "
     "75.50 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n",
     "short", 1.25, 0},
    {"torch 2: in pieces",
     "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total "
     "capacity of 79.15 GiB of "
     "which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.40 GiB memory in use. Of the "
     "allocated memory "
     "66.00 GiB is allocated by PyTorch, and 10.00 GiB is reserved by PyTorch but unallocated.\n",
     "fragmented", 0, 0},
    {"torch 2: another process is listed",
     "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total "
     "capacity of 79.15 GiB of "
     "which 1.25 GiB is free. Process 4711 has 20.50 GiB memory in use. Including non-PyTorch memory, this "
     "process has 57.00 GiB "
     "memory in use. Of the allocated memory 55.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved "
     "by PyTorch but "
     "unallocated.\n",
     "held_by_other", 1.75, 20.5},
    {"torch 2: two others, each listed",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacty "
     "of 39.39 GiB of which "
     "0.50 GiB is free. Process 11 has 6.00 GiB memory in use. Process 12 has 8.00 GiB memory in use. "
     "Including non-PyTorch "
     "memory, this process has 24.50 GiB memory in use. Of the allocated memory 23.00 GiB is allocated by "
     "PyTorch, and 256.00 MiB "
     "is reserved by PyTorch but unallocated.\n",
     "held_by_other", 1.5, 14},
    {"torch 2 in a container: the listed process is the one that speaks",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of "
     "79.15 GiB of which 1.25 "
     "GiB is free. Process 918273 has 77.40 GiB memory in use. Of the allocated memory 75.50 GiB is "
     "allocated by PyTorch, and "
     "512.00 MiB is reserved by PyTorch but unallocated.\n",
     "short", 1.25, 0},
    {"torch 2: nobody is listed, but the sum is not the device",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of "
     "79.15 GiB of which 1.25 "
     "GiB is free. Including non-PyTorch memory, this process has 40.00 GiB memory in use. Of the allocated "
     "memory 38.00 GiB is "
     "allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n",
     "held_by_other", 1.75, 37.9},
    {"torch 2: a wrapped figure of the driver is no figure",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of "
     "79.15 GiB of which 1.25 "
     "GiB is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the "
     "allocated memory 75.50 "
     "GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n",
     "short", 1.25, 0},
    {"torch 2: a limit below the device",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
     "79.15 GiB of which 39.00 "
     "GiB is free. Including non-PyTorch memory, this process has 39.75 GiB memory in use. 39.50 GiB "
     "allowed; Of the allocated "
     "memory 38.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n",
     "short", 0.5, 0},
    {"torch 1: full",
     "RuntimeError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 3; 31.75 GiB total capacity; 29.00 "
     "GiB already allocated; "
     "512.00 MiB free; 29.50 GiB reserved in total by PyTorch)\n",
     "short", 0.5, 0},
    {"torch 1: in pieces",
     "RuntimeError: CUDA out of memory. Tried to allocate 6.00 GiB (GPU 3; 31.75 GiB total capacity; 21.00 "
     "GiB already allocated; "
     "4.50 GiB free; 26.00 GiB reserved in total by PyTorch)\n",
     "fragmented", 0, 0},
    {"torch 1: others hold most of it",
     "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 31.75 GiB total capacity; 5.00 "
     "GiB already allocated; "
     "512.00 MiB free; 5.25 GiB reserved in total by PyTorch)\n",
     "held_by_other", 0.5, 26},
    {"torch: more than the device has",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5120.00 GiB. GPU 0 has a total capacity "
     "of 79.15 GiB of which "
     "40.00 GiB is free.\n",
     "bogus_request", 0, 0},
    {"torch: more than anything has",
     "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.\n",
     "bogus_request", 0, 0},
    {"torch: what is free would do",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
     "79.15 GiB of which "
     "40.00 GiB is free.\n",
     "unknown", 0, 0},
    {"the runtime prints no sizes", "[rank2]: torch.AcceleratorError: CUDA error: out of memory\n", "unknown",
     0, 0},
    {"JAX: bytes only",
     "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 "
     "bytes.\n",
     "unknown", 0, 0},
    {"JAX: the dump has the rest",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
     "4294967296 bytes.\n"
     "2024-05-11 02:14:07.204410: I external/tsl/tsl/framework/bfc_allocator.cc:1097] Sum Total of in-use "
     "chunks: 58.00GiB\n"
     "2024-05-11 02:14:07.204431: I external/tsl/tsl/framework/bfc_allocator.cc:1103] Limit:                 "
     "     64424509440\n",
     "short", 2, 0},
    {"JAX: the pool at start",
     "I0611 02:12:21.318735 9388 cuda_executor.cc:1005] failed to allocate 60.00GiB (64424509440 bytes) from "
     "device: "
     "RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
     "I0611 02:12:21.320649 9388 cuda_executor.cc:1005] failed to allocate 54.00GiB (57982058496 bytes) from "
     "device: "
     "RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
     "4294967296 bytes.\n",
     "preallocation", 0, 6},
    {"TPU",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of "
     "memory in memory space "
     "hbm. Used 21.50G of 15.50G hbm. Exceeded hbm capacity by 6.00G.\n",
     "short", 6, 0},
    {"vLLM: somebody is there",
     "ValueError: Free memory on device cuda:1 (11.25/79.25 GiB) on startup is less than desired GPU memory "
     "utilization (0.9, 71.25 "
     "GiB).\n",
     "held_by_other", 60, 68},
    {"vLLM: a share that no free device has",
     "ValueError: Free memory on device cuda:1 (78.50/79.25 GiB) on startup is less than desired GPU memory "
     "utilization (0.995, "
     "78.75 GiB).\n",
     "preallocation", 0.25, 0},
    {"vLLM: cache",
     "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache "
     "is needed, which is "
     "larger than the available KV cache memory (9.50 GiB).\n",
     "short", 6.5, 0},
    {"kernel: the victim filled its cgroup",
     "Mar  3 04:11:09 n01 kernel: memory: usage 67108864kB, limit 67108864kB, failcnt 190233\n"
     "Mar  3 04:11:09 n01 kernel: Memory cgroup out of memory: Killed process 41877 (python) "
     "total-vm:221187412kB, "
     "anon-rss:60817408kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:141212kB oom_score_adj:968\n"
     "Traceback (most recent call last):\nRuntimeError: DataLoader worker (pid 41877) is killed by signal: "
     "Killed.\n",
     "short", 0, 0},
    {"kernel: its neighbours did",
     "Mar  3 04:11:09 n01 kernel: memory: usage 67108864kB, limit 67108864kB, failcnt 190233\n"
     "Mar  3 04:11:09 n01 kernel: Memory cgroup out of memory: Killed process 41877 (python) "
     "total-vm:221187412kB, "
     "anon-rss:16777216kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:141212kB oom_score_adj:968\n"
     "Traceback (most recent call last):\nRuntimeError: DataLoader worker (pid 41877) is killed by signal: "
     "Killed.\n",
     "held_by_other", 0, 48},
};

TEST(Oom, OneAnswerForEveryAllocator) {
  for (const Row& row : kRows) {
    const v1::Report report = ReportOn(row.log);
    ASSERT_TRUE(report.has_memory()) << row.what << "\n" << report.DebugString();
    const v1::MemoryShortage& memory = report.memory();
    EXPECT_EQ(memory.answer(), row.answer) << row.what << ": " << memory.sentence();
    EXPECT_NEAR(static_cast<double>(memory.short_by()) / kGiB, row.short_by, 0.01) << row.what;
    EXPECT_NEAR(static_cast<double>(memory.held_by_others()) / kGiB, row.held_by_others, 0.01) << row.what;
    EXPECT_EQ(memory.has_short_by(), row.short_by != 0) << row.what;
    EXPECT_EQ(memory.has_held_by_others(), row.held_by_others != 0) << row.what;
    EXPECT_EQ(memory.missing().empty(), memory.answer() != "unknown") << row.what;
    EXPECT_NE(report.why().find(memory.sentence()), std::string::npos) << row.what;
    EXPECT_EQ(AdviceOf(report).find('<'), std::string::npos) << row.what << "\n" << AdviceOf(report);
  }
}

// What each answer must and must not lead to.
TEST(Oom, TheAnswerChoosesTheAdvice) {
  struct Want {
    const char* answer;
    const char* with;
    const char* without;
  };
  constexpr Want kWants[] = {
      {"short", "", "expandable_segments"},       {"short", "", "emove the process"},
      {"fragmented", "", "emove the process"},    {"held_by_other", "", "expandable_segments"},
      {"bogus_request", "shapes", "micro-batch"}, {"preallocation", "", "expandable_segments"},
      {"unknown", "", "emove the process"},
  };
  for (const Row& row : kRows) {
    const v1::Report report = ReportOn(row.log);
    const std::string changes = AdviceOf(report);
    for (const Want& want : kWants) {
      if (report.memory().answer() != want.answer) continue;
      EXPECT_NE(changes.find(want.with), std::string::npos) << row.what << "\n" << changes;
      EXPECT_EQ(changes.find(want.without), std::string::npos) << row.what << "\n" << changes;
    }
    const bool xla = report.memory().allocator() == "xla";
    if (!xla) {
      EXPECT_EQ(changes.find("XLA_"), std::string::npos) << row.what << "\n" << changes;
    }
  }
  EXPECT_NE(AdviceOf(ReportOn(kRows[1].log)).find("expandable_segments:True"), std::string::npos);
  EXPECT_NE(AdviceOf(ReportOn(kRows[2].log)).find("pid 4711 with 20.50 GiB"), std::string::npos);
}

TEST(Oom, ASettingAmongOthersOfItsVariableIsOn) {
  const std::string on = "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:256,expandable_segments:True\n";
  EXPECT_NE(AdviceOf(ReportOn(on + kRows[1].log)).find("already on"), std::string::npos);
  EXPECT_EQ(AdviceOf(ReportOn(on + kRows[1].log)).find("Turn on expandable"), std::string::npos);
  const std::string off = "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:256\n";
  EXPECT_EQ(AdviceOf(ReportOn(off + kRows[1].log)).find("already on"), std::string::npos);
}

TEST(Oom, CompilationsForChangingShapesAreCounted) {
  std::string log;
  for (int i = 0; i < 12; ++i) {
    log +=
        Cat("WARNING:jax._src.interpreters.pxla:Compiling train_step with global shapes and types "
            "[ShapedArray(float32[",
            8 + i, ",1024])]. Argument mapping: (None,).\n");
  }
  log +=
      "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 "
      "bytes.\n";
  const v1::Report report = ReportOn(log);
  EXPECT_EQ(report.memory().recompilations(), 12);
  EXPECT_NE(AdviceOf(report).find("shape churn"), std::string::npos) << AdviceOf(report);
  EXPECT_EQ(ReportOn(kRows[15].log).memory().has_recompilations(), false);
}

TEST(Oom, TwinsAreComparedWhereTheyPrintTheirMemory) {
  std::string log;
  for (int rank = 0; rank < 4; ++rank) {
    log += Cat("[rank", rank, "]: step 10 loss 2.1 peak memory: ", rank == 2 ? "78.00" : "52.00", " GiB\n");
  }
  const std::string oom =
      "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 2 has a total "
      "capacity of 79.15 GiB of "
      "which 0.25 GiB is free. Of the allocated memory 75.50 GiB is allocated by PyTorch, and 0.50 GiB is "
      "reserved by PyTorch but "
      "unallocated.\n";
  const v1::Report report = ReportOn(log + oom);
  ASSERT_TRUE(report.memory().has_twins_last()) << report.DebugString();
  EXPECT_NEAR(static_cast<double>(report.memory().twins_last()) / kGiB, 52, 0.01);
  EXPECT_NE(report.memory().sentence().find("it alone grew"), std::string::npos);
  // Ranks that differ among themselves are no twins.
  const std::string other = "[rank3]: step 11 loss 2.1 peak memory: 20.00 GiB\n";
  EXPECT_FALSE(ReportOn(log + other + oom).memory().has_twins_last());
}

// A size read from a buffer that an aborted collective left behind is an effect of the time-out.
TEST(Oom, AnImpossibleSizeBehindATimeoutIsNotTheRoot) {
  const auto wait = [](int rank) {
    return Cat("[rank", rank, "]:[E304 22:01:25.123456789 ProcessGroupNCCL.cpp:616] [Rank ", rank,
               "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=118, OpType=ALLREDUCE, "
               "NumelIn=1048576, "
               "NumelOut=1048576, Timeout(ms)=600000) ran for 600031 milliseconds before timing out.\n");
  };
  const std::string last = "[rank3]: step 118 loss 2.0\n";
  const auto oom = [](const char* size) {
    return Cat("[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ", size,
               ". GPU 1 has a total capacity of 79.15 GiB of which 1.00 GiB is free.\n");
  };
  const v1::Report late = ReportOn(last + wait(0) + wait(1) + wait(2) + oom("81920.00 GiB"));
  EXPECT_NE(late.initiator().rank(), 1) << late.why();
  EXPECT_NE(late.signature(), "oom.torch") << late.why();
  const v1::Report first = ReportOn(last + oom("4.00 GiB") + wait(0) + wait(2) + wait(3));
  EXPECT_EQ(first.verdict(), "named");
  EXPECT_EQ(first.initiator().rank(), 1);
  EXPECT_EQ(first.signature(), "oom.torch");
  EXPECT_EQ(ReportOn(oom("81920.00 GiB")).signature(), "oom.torch");
}

}  // namespace
}  // namespace firstfault
