// generate.h: seeded training logs for benchmarks: what 64 healthy ranks print, optionally with faults in
// between, or with lines of a megabyte.
#ifndef FIRSTFAULT_TESTS_BENCH_GENERATE_H_
#define FIRSTFAULT_TESTS_BENCH_GENERATE_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/catalogue.h"

namespace firstfault::bench {

enum class Kind { kClean, kNoisy, kLongLine };

// About `bytes` of log. The same arguments give the same bytes.
inline std::string GenerateLog(Kind kind, size_t bytes, uint32_t seed, const Catalogue& catalogue) {
  std::mt19937 random(seed);
  std::vector<std::string> faults;
  for (const Signature& signature : catalogue.signatures()) {
    if (signature.role < Role::kPrecursor) continue;
    for (const std::string& line : signature.row.positive()) faults.push_back(line);
  }
  std::string out;
  out.reserve(bytes + (1 << 16));
  const auto number = [&](uint32_t below) { return std::to_string(random() % below); };
  for (uint64_t i = 0; out.size() < bytes; ++i) {
    const std::string rank = std::to_string(i % 64);
    const std::string clock = "2026-03-11 0" + std::to_string(i / 36000 % 10) + ":" + std::to_string(10 + i / 600 % 50) + ":" +
                              std::to_string(10 + i % 50);
    switch (random() % 6) {
      case 0:
        out += "[rank" + rank + "]:" + clock + "," + number(900) + " - root - INFO - step: " + std::to_string(i / 64) + "  loss:  " +
               number(9) + "." + number(9999) + "  memory: 61.3GiB(77.5%)  tps: " + number(9999) + "  mfu: 41." + number(99) + "%\n";
        break;
      case 1:
        out += " [" + clock + "] iteration " + std::to_string(i) + "/  500000 | consumed samples: " + number(9999999) +
               " | elapsed time per iteration (ms): " + number(9999) + ".1 | learning rate: 1.5E-04 | global batch size:  1024 | lm loss: 2.1" +
               number(99999) + "E+00 | loss scale: 1.0 | grad norm: 0." + number(999) + " | number of skipped iterations:   0 |\n";
        break;
      case 2:
        out += "node" + rank + ":" + number(99999) + ":" + number(99999) + " [" + number(8) + "] NCCL INFO Channel " + number(16) + "/0 : " +
               number(64) + "[" + number(8) + "] -> " + number(64) + "[" + number(8) + "] via P2P/CUMEM/read\n";
        break;
      case 3:
        out += clock + "," + number(900) + " INFO [trainer.py:" + number(999) + "] saved metrics for step " + number(99999) +
               " to /data/run/metrics.jsonl in 0.0" + number(9) + "s\n";
        break;
      case 4:
        out += "{'loss': 1." + number(9999) + ", 'grad_norm': 0." + number(9999) + ", 'learning_rate': 4.2e-05, 'epoch': 0." + number(99) + "}\n";
        break;
      default:
        out += "I0311 0" + number(9) + ":" + std::to_string(10 + i % 50) + ":12.123456   " + number(9999) + " metric_logger.py:185] completed step: " +
               std::to_string(i) + ", seconds: 1." + number(999) + ", TFLOP/s/device: 412." + number(99) + ", Tokens/s/device: " + number(9999) + "\n";
    }
    if (kind == Kind::kNoisy && random() % 50 == 0) out += faults[random() % faults.size()] + "\n";
    if (kind == Kind::kLongLine && random() % 5000 == 0) {
      out += std::string((1 << 18) + random() % (1 << 19), 'c') + faults[random() % faults.size()] + "\n";
    }
  }
  return out;
}

}  // namespace firstfault::bench

#endif  // FIRSTFAULT_TESTS_BENCH_GENERATE_H_
