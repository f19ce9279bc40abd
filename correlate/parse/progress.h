// progress.h: steps and memory figures that training loops print about themselves.
//
// Why:     healthy lines tell where each rank stood when the fault came, and one rank's memory that climbs
//          away from its twins is a warning that no signature matches.
// Model:   a small table of forms, tried only on lines near faults, at the head and at the tail.
// Units:   memory in bytes.
// Threads: pure functions.
#ifndef FIRSTFAULT_CORRELATE_PARSE_PROGRESS_H_
#define FIRSTFAULT_CORRELATE_PARSE_PROGRESS_H_

#include <optional>
#include <string_view>

namespace firstfault {

struct ProgressFields {
  std::optional<int64_t> step;
  std::optional<int32_t> rank;         // "rank 3", "rank: 3" in the message itself
  std::optional<double> memory_bytes;  // host memory, of the process or the node
  std::optional<double> memory_share;  // of all that there is, 0 to 1, where the line says so behind the former
  std::optional<double> device_memory_bytes;
  bool last = false;                   // "step 200/200": all of them are made
  bool bar = false;                    // a progress bar: work of one phase, not a training step
};

ProgressFields ParseProgress(std::string_view message);

// "6.11 GiB", "46.51G", "20480", "512MB": bytes, 1024-based. nullopt where it is no size.
std::optional<double> ParseSize(std::string_view text);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PARSE_PROGRESS_H_
