// evidence.h: which bytes of a source are worth sending.
//
// Why:     a healthy job prints gigabytes that nobody will ask for. What decides an incident stands around a few
//          lines, at the head and at the tail.
// Model:   bytes in, spans out. Shipped are: the head; around every line with an event of the catalogue the
//          lines before it and the block behind it; lines with a fact, and the first of each harmless kind,
//          alone; now and then where the ranks stand; the tail, when asked. Spans never overlap: what two
//          reasons ask for is shipped once. Within a storm of one kind a minute's first matches are shipped,
//          the others counted.
// Shapes:  a window of the last kRingBytes and of the line that is being read; a line that is longer than
//          the scanner reads is cut as there.
// Threads: one thread; no I/O, no clock: time is an argument.
#ifndef FIRSTFAULT_AGENT_EVIDENCE_H_
#define FIRSTFAULT_AGENT_EVIDENCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "correlate/source_scanner.h"
#include "proto/record.pb.h"

namespace firstfault::agent {

enum class Ship : uint8_t { kMatches, kAll };

// As many lines as the scanner reads for habits and identity, and as it takes for one message.
inline constexpr uint64_t kHeadLines = 64, kBehindLines = 64;
// What the scanner keeps before a fault (source_scanner.cc), and, at the tail, what it parses and a little more.
inline constexpr uint64_t kBeforeLines = 100, kBeforeBytes = 16 << 10;
inline constexpr uint64_t kTailLines = 100;
inline constexpr uint64_t kRingBytes = 96 << 10;
// A record's share of a batch.
inline constexpr uint64_t kSpanBytesMax = 64 << 10;
inline constexpr uint64_t kStormMax = 100;
inline constexpr int64_t kStormEveryNs = 60'000'000'000;
// Kinds of one source that are counted apart; further ones share a count.
inline constexpr size_t kStormKindsMax = 1024;
inline constexpr int64_t kProgressEveryNs = 10'000'000'000;
// Ranks whose progress is shipped at a time.
inline constexpr size_t kProgressRanksMax = 16;

// What must outlive the agent: decisions on the bytes from `offset` on come out as before, but for what is
// in `shipped`, which is not shipped again.
struct EvidenceState {
  uint64_t offset = 0;
  uint64_t line = 1;  // number of the line in which `offset` lies
  bool in_cut_line = false;
  std::vector<std::pair<uint64_t, uint64_t>> shipped;  // [begin, end), in order, apart
};

class Evidence {
 public:
  // `engine` and `hits`, working memory, must outlive it.
  Evidence(const Engine& engine, std::vector<PatternSet::Hit>& hits, uint32_t source, Ship ship,
           EvidenceState state = {});

  // Bytes that follow the ones fed before.
  void Feed(int64_t now_ns, std::string_view bytes, std::vector<v1::Record>* out);
  // The last line will not go on: its file ended.
  void Flush(int64_t now_ns, std::vector<v1::Record>* out);
  // The last lines, as they stand.
  void Tail(std::vector<v1::Record>* out);
  // Counts of storms that are still kept back.
  void EndStorms(std::vector<v1::Record>* out);

  // The smallest offset from which a later Evidence must be fed, not before `floor`.
  EvidenceState StateFrom(uint64_t floor) const;
  uint64_t end() const { return End(); }
  uint64_t end_line() const { return LineNumberAt(End()); }  // number of the line in which the end lies
  // Whether a line since the last call says that something ended for good.
  bool TakeFatal() { return std::exchange(fatal_, false); }

 private:
  struct Line {
    bool event = false, once = false, fatal = false;
    uint32_t signature = 0;
    uint64_t behind = 0;  // lines that belong to the event
  };
  struct Storm {
    uint64_t seen = 0, bytes = 0;
  };

  uint64_t End() const { return base_ + window_.size(); }
  std::string_view Bytes(uint64_t begin, uint64_t end) const {
    return std::string_view(window_).substr(begin - base_, end - begin);
  }
  void Work(int64_t now_ns, uint64_t end, std::vector<v1::Record>* out);
  void ShipBehind(uint64_t begin, uint64_t end, std::vector<v1::Record>* out);
  void ShipProgress(std::vector<v1::Record>* out);
  void ShipRange(uint64_t begin, uint64_t end, v1::Span::Reason reason, std::vector<v1::Record>* out);
  void Append(uint64_t begin, uint64_t end, v1::Span::Reason reason, std::vector<v1::Record>* out);
  uint64_t LookBack(uint64_t offset, uint64_t lines, uint64_t bytes) const;
  uint64_t LineNumberAt(uint64_t offset) const;
  Line Read(const std::vector<uint32_t>& patterns);
  bool IsStorm(int64_t now_ns, uint32_t signature, std::string_view line, std::vector<v1::Record>* out);
  void Trim();

  const Engine& engine_;
  std::vector<PatternSet::Hit>& hits_;
  const uint32_t source_;
  const Ship ship_;
  std::string window_;         // bytes [base_, End()) of the source
  uint64_t base_;
  uint64_t scanned_;           // decided up to here
  uint64_t scanned_line_;      // number of the line that begins there
  bool cut_ = false;           // inside a line that was cut
  uint64_t behind_ = 0;        // lines still to be shipped behind the last match
  v1::Span::Reason behind_reason_ = v1::Span::HEAD;
  bool fatal_ = false;
  std::vector<std::pair<uint64_t, uint64_t>> shipped_;  // within the window
  std::set<uint32_t> harmless_;                         // kinds that were shipped
  std::map<std::pair<uint32_t, int32_t>, Storm> storms_;
  int64_t storms_since_ns_ = INT64_MIN;
  int64_t next_progress_ns_ = INT64_MIN;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_AGENT_EVIDENCE_H_
