// event.h: what the reading half hands to the reasoning half.
//
// Why:     one vocabulary for log lines, whoever printed them: who, when, where, what, and the raw text.
// Model:   a SourceDigest is everything kept of one source (a file, a stream, an archive member): its
//          events, identity facts, progress samples and counters. Correlate() sees digests only.
// Units:   times in nanoseconds; offsets in bytes of the unpacked source; lines are 1-based.
// Errors:  unknown is std::nullopt; zero is a value.
// Threads: plain values.
#ifndef FIRSTFAULT_CORRELATE_EVENT_H_
#define FIRSTFAULT_CORRELATE_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace firstfault {

// Raw text kept of one line; a longer one is cut. Enough for every fault text seen; allocator and
// configuration dumps are longer and say nothing more.
inline constexpr size_t kTextBytesMax = 16 << 10;

// A reading of a named clock.
struct ClockReading {
  enum class Clock : uint8_t {
    kWallUtc,    // wall clock with a known zone: `ns` is Unix time
    kWallLocal,  // wall clock without a zone: `ns` as if the digits were UTC
    kBoot,       // monotonic since boot (kernel)
    kDelta,      // since the previous stamped line of the source (dmesg -d)
  };
  Clock clock = Clock::kWallLocal;
  bool year_known = true;          // false: `ns` is computed with year 1970
  int64_t ns = 0;
  int64_t resolution_ns = 1'000'000'000;
};

// As printed on a line.
struct Stamp : ClockReading {
  std::string text;  // the digits
};

// Fields that line prefixes carry, each optional. See correlate/parse/prefix.h.
struct Prefix {
  std::optional<int32_t> rank;        // global
  std::optional<int32_t> local_rank;
  std::optional<int32_t> group_rank;  // inside one process group: never a global rank
  std::optional<int32_t> task;        // launcher task or JAX process index
  std::optional<int32_t> node_rank;
  std::optional<int32_t> device;      // visible device of an NCCL line
  std::optional<int32_t> pid;
  std::optional<int32_t> world_size;  // "(3/4)"
  std::string host;
  std::string level;                  // one letter: I W E F D C, or empty
  std::string group;                  // process group id or description
  bool kernel = false;                // a kernel ring line
  bool launcher = false;              // torchrun's own logger, srun, slurmstepd: not a rank's words
  bool partial = false;               // CRI "P": the line goes on in the next record
  std::optional<Stamp> stamp;
  size_t length = 0;                  // bytes of the line that are prefix
};

// A captured field: name as in the catalogue (a view of it: the catalogue outlives the events), text as printed.
using Fields = std::vector<std::pair<std::string_view, std::string>>;

inline std::string_view FieldOf(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return {};
}

struct Position {
  uint32_t line = 0;
  uint64_t byte_offset = 0;
};

// One entry of a torchrun failure report.
struct ElasticReport {
  std::string host;
  std::optional<int32_t> rank, local_rank, pid, exit_code;
  std::string time, traceback;
  bool is_root = false;  // under "Root Cause (first observed failure)"
  Position at;
};

struct Event {
  uint32_t signature = 0;  // catalogue index
  Position at;             // the deciding line
  Prefix prefix;           // of the deciding line, completed from the block
  Fields fields;           // captures of all matches in the block; the deciding line's first
  std::string text;        // the deciding line, raw
  std::vector<std::string> block;    // other lines of the event, raw, in order
  std::string context;               // lines before it, each with its newline; first fault of a source only
  std::vector<uint32_t> also;        // other signatures matched in the block
  std::string exception;             // class name where a traceback ended in one
  bool in_traceback = false;
  bool relayed = false;              // another rank's exception, told by this log: the prefix names who raised it
  int64_t count = 1;                 // repetitions folded into this one
  Position last_at;                  // of the last repetition
  std::vector<ElasticReport> reports;
  std::optional<Stamp> stamp_before;  // of the nearest stamped line before it, where it has none itself
};

// A training step or iteration seen on a line.
struct Progress {
  Position at;
  std::optional<int32_t> rank;
  int64_t step = 0;
  bool bar = false;   // a progress bar of one phase, not a training step
  bool last = false;  // the last of the run, as it says itself
  std::optional<ClockReading> stamp;
  std::string text;  // raw line, cut; of bars only
};

// A line that its writer marks as a warning or worse, and that no signature knows.
struct Remark {
  Position at;
  std::optional<int32_t> rank, local_rank;
  std::string text;   // raw line, cut
  std::string shape;  // the message with its numbers masked: what ranks say alike has one shape
};

// A number that ranks print about themselves (memory in use).
struct Sample {
  Position at;
  std::optional<int32_t> rank;
  double value = 0;
  bool device = false;  // GPU memory, else host memory
  std::string text;     // raw line, cut; of host memory only
  std::optional<double> share;  // of all host memory there is, 0 to 1, where the line says so
};

// The last words of one writer of a source (a rank in a merged log; else one per source).
struct Writer {
  std::optional<int32_t> rank, local_rank;
  Position last_at;
  std::string last_text;
};

// How a fact about a source is known.
struct Known {
  std::string value;
  std::string by;  // "file name", "folder", "--map", "content", ...
};

struct SourceInfo {
  enum class Kind : uint8_t {
    kUnknown,
    kRankLog,
    kMergedLog,
    kKernelLog,
    kLauncherLog,
    kFlightRecorder
  };
  std::string path;  // as shown to the user
  Kind kind = Kind::kUnknown;
  std::optional<Known> job, host, rank, local_rank, node_rank, stream, attempt;
  std::optional<int64_t> modified_ns;  // file time, Unix: settles the year of year-less stamps
  std::optional<int32_t> zone_minutes; // --timezone, minutes east of UTC
};

struct SourceDigest {
  SourceInfo info;
  std::vector<Event> events;      // in file order
  std::vector<Event> facts;       // role context, in file order
  std::vector<Progress> progress; // bounded, from the head, the tail and around events
  std::vector<Sample> memory;     // likewise
  std::vector<Remark> remarks;    // likewise
  std::vector<Writer> writers;
  int64_t lines = 0, bytes = 0;
  int64_t events_dropped = 0;     // more different ones than a digest holds
  int64_t lines_cut = 0;          // longer than kLineBytesMax: the rest of the line was skipped
  std::vector<uint32_t> benign;   // signatures of harmless lines that were seen, each once
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_EVENT_H_
