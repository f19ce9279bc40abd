// diagnose_bench: the real `firstfault diagnose --json` on folders of rank logs, beside ripgrep with the same
// patterns on the same files, in one run.
//
// Usage: diagnose_bench [RANKS ...]   default: 8 64 512 4096, then a small case
// Files: one a rank, eight a host; 1 MiB each up to 64 ranks, 100 KiB above. One rank runs out of GPU memory,
//        the others time out. All files are in the page cache. Medians of three rounds, taken in turn; one
//        round where it takes long.
// Bars:  by the wall; the ratio by CPU time beside it holds on a busy machine too. ripgrep pays for building
//        its automaton once a run: the line "rg alone" says how much, on an empty file.
// FIRSTFAULT_KEEP=DIR leaves the generated logs there, to profile on.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/source_scanner.h"
#include "correlate/text.h"
#include "proto/report.pb.h"
#include "tests/bench/process.h"

namespace firstfault::bench {
namespace {

namespace fs = std::filesystem;

// The bars of the design.
constexpr double kRatioMax = 2.0, kSmallSecondsMax = 0.060, kPeakMibBase = 64, kPeakShareOfInput = 0.10;
constexpr int kRounds = 3, kSmallRounds = 11;
constexpr double kLongRoundSeconds = 10;
constexpr int kRanksPerHost = 8;

std::string TwoDigits(uint64_t n) { return Cat(n < 10 ? "0" : "", n); }

// What the rank that ran out of memory prints last.
std::string OomTail(int rank) {
  const std::string tag = Cat("[rank", rank, "]: ");
  return Cat(
      tag, "Traceback (most recent call last):\n", tag,
      "  File \"/opt/train/pretrain.py\", line 412, in <module>\n", tag, "    main()\n", tag,
      "  File \"/opt/train/pretrain.py\", line 388, in main\n", tag, "    loss.backward()\n", tag,
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU ", rank % kRanksPerHost,
      " has a total capacity of 79.11 GiB of which 2.40 GiB is free. Process 41112 has 76.70 GiB memory in "
      "use. "
      "Of the allocated memory 70.12 GiB is allocated by PyTorch, and 4.80 GiB is reserved by PyTorch but "
      "unallocated.\n");
}

// What a rank prints that waited for it.
std::string TimeoutTail(int rank, std::string_view host) {
  const std::string at =
      Cat("[rank", rank, "]:[E311 05:21:", TwoDigits(static_cast<uint64_t>(rank % 50) + 10), ".4410",
          1000 + rank, " ProcessGroupNCCL.cpp:");
  const std::string work =
      "WorkNCCL(SeqNum=48211, OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, Timeout(ms)=600000)";
  return Cat(
      at, "616] [Rank ", rank, "] Watchdog caught collective operation timeout: ", work,
      " ran for 600042 milliseconds before timing out.\n", at, "1785] [PG ID 0 PG GUID 0 Rank ", rank,
      "] Exception (either an error or timeout) detected by watchdog at work: 48211, last enqueued NCCL "
      "work: "
      "48211, last completed NCCL work: 48210.\n",
      at, "1834] [PG ID 0 PG GUID 0 Rank ", rank,
      "] Timeout at NCCL work: 48211, last enqueued NCCL work: 48211, "
      "last completed NCCL work: 48210.\n",
      at, "630] [Rank ", rank,
      "] Some NCCL operations have failed or timed out. Due to the asynchronous nature of "
      "CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.\n",
      at, "636] [Rank ", rank, "] To avoid data inconsistency, we are taking the entire process down.\n",
      "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG ID 0 PG GUID 0 "
      "Rank ",
      rank, "] Process group watchdog thread terminated with exception: [Rank ", rank,
      "] Watchdog caught collective operation timeout: ", work,
      " ran for 600042 milliseconds before timing out.\nException raised from checkTimeout at "
      "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:618 (most recent call first):\n"
      "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f1c5a5d1ef8 in libc10.so)\n"
      "frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x1f8 (0x7f1c0d6cbd08 in libtorch_cuda.so)\n\n",
      host, ": leaving\n");
}

// One rank's log: a head that says who it is, healthy work, and how it ended.
std::string RankLog(int rank, int ranks, int oom_rank, size_t bytes) {
  std::mt19937 random(static_cast<uint32_t>(rank) + 1);
  const auto number = [&](uint32_t below) { return std::to_string(random() % below); };
  const std::string host = Cat("n", 1000 + rank / kRanksPerHost);
  const std::string nccl = Cat(host, ":", 4100 + rank % kRanksPerHost, ":", 5100 + rank % kRanksPerHost, " [",
                               rank % kRanksPerHost, "] NCCL INFO ");
  const std::string tail = rank == oom_rank ? OomTail(rank) : TimeoutTail(rank, host);
  std::string out = Cat(nccl, "ncclCommInitRank comm 0x55d0c8a0 rank ", rank, " nranks ", ranks, " cudaDev ",
                        rank % kRanksPerHost, " nvmlDev ", rank % kRanksPerHost,
                        " busId 1b000 commId 0x9f2c11 - Init "
                        "COMPLETE\n");
  for (uint64_t i = 0; out.size() + tail.size() < bytes; ++i) {
    const std::string clock =
        Cat("2026-03-11 0", i / 3000 % 6, ":", TwoDigits(i / 50 % 60), ":", TwoDigits(i % 60));
    switch (random() % 5) {
      case 0:
        out += Cat("[rank", rank, "]:", clock, ",", number(900), " - root - INFO - step: ", i, "  loss:  2.",
                   number(9999), "  memory: 61.3GiB(77.5%)  tps: ", number(9999), "  mfu: 41.", number(99),
                   "%\n");
        break;
      case 1:
        out += Cat(nccl, "Channel ", number(16), "/0 : ", rank, "[", rank % kRanksPerHost, "] -> ",
                   number(64), "[", number(8), "] via P2P/CUMEM/read\n");
        break;
      case 2:
        out += Cat(clock, ",", number(900), " INFO [trainer.py:", number(999), "] saved metrics for step ", i,
                   " to /data/run/metrics.jsonl in 0.0", number(9), "s\n");
        break;
      case 3:
        out += Cat("{'loss': 1.", number(9999), ", 'grad_norm': 0.", number(9999),
                   ", 'learning_rate': 4.2e-05}\n");
        break;
      default:
        out += Cat(clock, ",", number(900), " DEBUG [loader.py:", number(999), "] shard ", number(99999),
                   " opened, 0 retries, ", number(999), " ms\n");
    }
  }
  return out + tail;
}

// Returns the bytes written.
uint64_t WriteLogs(const fs::path& folder, int ranks, int oom_rank, size_t bytes) {
  uint64_t total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path host = folder / Cat("n", 1000 + rank / kRanksPerHost);
    fs::create_directories(host);
    const std::string log = RankLog(rank, ranks, oom_rank, bytes);
    std::ofstream(host / Cat("rank_", rank, ".log"), std::ios::binary) << log;
    total += log.size();
  }
  return total;
}

double Median(const std::vector<Measured>& runs, double Measured::*field) {
  std::vector<double> values;
  for (const Measured& run : runs) values.push_back(run.*field);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string Verdict(const std::string& json_path, std::optional<int> rank) {
  std::ifstream in(json_path);
  const std::string json((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  v1::Report report;
  if (!google::protobuf::util::JsonStringToMessage(json, &report).ok()) return "no report";
  if (!rank) return report.verdict();
  const bool right =
      report.verdict() == "named" && report.initiator().has_rank() && report.initiator().rank() == *rank;
  return right ? "named right" : Cat("NOT RIGHT: ", report.verdict());
}

const char* Bar(bool met) { return met ? "meets" : "MISSES"; }

void Bench(const fs::path& base, const std::string& patterns, int ranks) {
  const size_t bytes = ranks <= 64 ? 1 << 20 : 100 << 10;
  const int oom_rank = ranks * 2 / 3;
  const char* keep = std::getenv("FIRSTFAULT_KEEP");
  const fs::path folder = (keep == nullptr ? base : fs::path(keep)) / Cat("logs-", ranks);
  const double input_mib = static_cast<double>(WriteLogs(folder, ranks, oom_rank, bytes)) / (1 << 20);
  const std::string json = (base / "report.json").string();
  std::vector<Measured> ours, rg;
  for (int round = 0; round < kRounds; ++round) {
    if (const auto us = RunProgram({FIRSTFAULT_BINARY, "diagnose", "--json", folder.string()}, json)) {
      ours.push_back(*us);
    }
    if (const auto them = RunRipgrep(patterns, folder.string())) rg.push_back(*them);
    if (!ours.empty() && ours.back().seconds > kLongRoundSeconds) break;
  }
  if (ours.empty()) {
    std::printf("%5d ranks: firstfault did not run\n", ranks);
    return;
  }
  const double wall = Median(ours, &Measured::seconds), cpu = Median(ours, &Measured::cpu_seconds);
  int64_t peak_kib = 0;
  for (const Measured& us : ours) peak_kib = std::max(peak_kib, us.peak_kib);
  const double peak_mib = static_cast<double>(peak_kib) / 1024;
  const double peak_bar = kPeakMibBase + kPeakShareOfInput * input_mib;
  std::printf("%5d ranks %6.1f MiB  %7.3f s (cpu %7.3f) %6.1f MB/s  %s\n", ranks, input_mib, wall, cpu,
              input_mib * 1.048576 / wall, Verdict(json, oom_rank).c_str());
  if (rg.empty()) {
    std::printf("      rg is not installed, or refused the patterns\n");
  } else {
    const double rg_wall = Median(rg, &Measured::seconds), rg_cpu = Median(rg, &Measured::cpu_seconds);
    std::printf("      rg  %7.3f s (cpu %7.3f): ours is %.2f x (cpu %.2f x), %s %.1f x\n", rg_wall, rg_cpu,
                wall / rg_wall, cpu / rg_cpu, Bar(wall <= kRatioMax * rg_wall), kRatioMax);
  }
  std::printf("      peak %.1f MiB, %s %.1f MiB\n", peak_mib, Bar(peak_mib <= peak_bar), peak_bar);
  std::fflush(stdout);
  if (keep == nullptr) fs::remove_all(folder);
}

void BenchSmall(const fs::path& base) {
  const fs::path folder = FIRSTFAULT_SOURCE_DIR "/tests/golden/001-spawn-oom-long-utterance";
  const std::string json = (base / "report.json").string();
  std::vector<Measured> runs;
  for (int round = 0; round < kSmallRounds; ++round) {
    const auto us =
        RunProgram({FIRSTFAULT_BINARY, "diagnose", "--json", (folder / "train.log").string()}, json);
    if (us) runs.push_back(*us);
  }
  if (runs.empty()) return;
  const double wall = Median(runs, &Measured::seconds), cpu = Median(runs, &Measured::cpu_seconds);
  std::printf("small case  %.1f ms (cpu %.1f), %s, %s %.0f ms\n", wall * 1e3, cpu * 1e3,
              Verdict(json, 3).c_str(), Bar(wall <= kSmallSecondsMax), kSmallSecondsMax * 1e3);
}

// In a child: the engine's memory would count as ours at every fork.
void WritePatterns(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    WriteRipgrepPatterns(*BuiltInEngine().catalogue, path);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

int Main(int argc, char** argv) {
  std::string name = (fs::temp_directory_path() / "firstfault-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return 70;
  const fs::path base = name;
  const std::string patterns = (base / "patterns").string();
  WritePatterns(patterns);
  const std::string empty = (base / "empty").string();
  std::ofstream(empty).flush();
  if (const auto alone = RunRipgrep(patterns, empty)) {
    std::printf("rg alone    %.3f s (cpu %.3f) to build its automaton\n", alone->seconds, alone->cpu_seconds);
  }
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(ParseNumber<int>(argv[i]).value_or(8));
  if (sizes.empty()) sizes = {8, 64, 512, 4096};
  for (const int ranks : sizes) Bench(base, patterns, ranks);
  BenchSmall(base);
  std::error_code ignored;
  fs::remove_all(base, ignored);
  return 0;
}

}  // namespace
}  // namespace firstfault::bench

int main(int argc, char** argv) { return firstfault::bench::Main(argc, argv); }
