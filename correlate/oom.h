// oom.h: why an allocation failed, worked out from the sizes that the logs print.
//
// Why:     "out of memory" has several causes with opposite repairs: too little memory, enough in pieces,
//          somebody else on the device, a pool reserved up front, or a size that is nonsense. Every allocator
//          words its numbers in its own way; here they are one set, and one answer.
// Units:   bytes (1024-based, as allocators print them).
// Errors:  what a message does not print is std::nullopt, and named in `missing` where it decides.
// Threads: pure functions.
// Source:  shared reference signatures, sections 1.5, 2, 8 and 10.1; the JAX page on GPU memory allocation.
#ifndef FIRSTFAULT_CORRELATE_OOM_H_
#define FIRSTFAULT_CORRELATE_OOM_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/incident.h"
#include "correlate/suspects.h"

namespace firstfault {

enum class Shortage : uint8_t {
  kShort,          // more was asked than is left
  kFragmented,     // enough is left, but in pieces
  kHeldByOther,    // it would fit without another process
  kPreallocation,  // a pool that is reserved up front does not fit, or leaves nothing
  kBogusRequest,   // more was asked than the whole device has
  kUnknown,
};
enum class Allocator : uint8_t { kTorch, kXla, kVllm, kSglang, kCuda, kHost };

std::string_view Word(Shortage value);
std::string_view Word(Allocator value);

// The allocator that prints lines of this signature; nullopt: not about memory running out.
std::optional<Allocator> AllocatorOf(std::string_view id);

struct Holder {
  int32_t pid = 0;
  double bytes = 0;
};

struct OomNumbers {
  std::optional<double> asked, free, total;
  std::optional<double> allocated;             // in live blocks of this process's pool
  std::optional<double> reserved_unallocated;  // in its pool, but in no live block
  std::optional<double> in_use;                // by this process, everything included
  std::optional<double> limit;                 // what it may use: a fraction of the device, a cgroup, a pool
  std::optional<double> scope_in_use;          // used under that limit by everybody
  std::vector<Holder> holders;                 // other processes on the device, largest first
  bool beyond_any_size = false;                // the message itself calls the size impossible
};

// A pool that XLA reserved at start: the driver refuses until a size fits.
struct PoolStart {
  std::optional<double> wanted;        // the first size asked of the driver
  std::optional<double> last_refused;  // the smallest size that it refused
};

struct OomAnswer {
  Shortage shortage = Shortage::kUnknown;
  Allocator allocator = Allocator::kTorch;
  OomNumbers numbers;
  std::optional<double> short_by;        // at least this much too little
  std::optional<double> held_by_others;  // at least
  int64_t recompilations = 0;            // that the log shows before the failure
  bool churn = false;                    // and they are many of few functions
  std::optional<double> own_last,
      twins_last;                    // device memory in the last lines: this rank, median of its twins
  std::vector<std::string> missing;  // what would decide, where it is unknown
  std::string sentence;              // the answer with its numbers
};

// The sizes on the event's own lines.
OomNumbers ReadNumbers(const Event& event, Allocator allocator);

// The arithmetic. The sentence is complete but for recompilations and twins.
OomAnswer AnswerFrom(Allocator allocator, OomNumbers numbers, const PoolStart& pool);

// The answer for a suspect whose own line is about memory; nullopt for every other one.
std::optional<OomAnswer> ExplainOom(const Incident& incident, const Suspect& suspect);

// More was asked than the device has: often a size read from a buffer that an aborted collective left behind.
bool IsBogusRequest(const PlacedEvent& event);

// "3.91 GiB".
std::string SizeText(double bytes);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_OOM_H_
