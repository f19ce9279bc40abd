// pattern_set.h: the anchors of all patterns of the catalogue, in one pass over the bytes.
//
// Why:     hundreds of signatures over gigabytes of logs; scanning whole chunks with one automaton is
//          several times faster than line by line (measured: tests/bench/scan_bench).
// Model:   vectorscan in block mode over literals (anchors.h), without regard to case. A hit is a candidate:
//          the patterns of the anchor may match the line it is in; line_hits.h confirms with RE2. No pattern
//          can match a newline (Catalogue lints this), so a hit belongs to exactly one line.
// Shapes:  a chunk should end at a line boundary or at the end of input.
// Errors:  Compile and Deserialize return a status; Scan cannot fail (FF_CHECK on misuse).
// Threads: a PatternSet is immutable and shared; a Scratch belongs to one thread.
#ifndef FIRSTFAULT_CORRELATE_PATTERN_SET_H_
#define FIRSTFAULT_CORRELATE_PATTERN_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "correlate/catalogue.h"

struct hs_database;
struct hs_scratch;

namespace firstfault {

class PatternSet {
 public:
  // kBaselineCpu: runs on every CPU that the library runs on; kThisCpu: tuned for this machine.
  enum class Target { kBaselineCpu, kThisCpu };

  // A hit: an anchor ends before byte `end` of the chunk.
  struct Hit {
    uint64_t end;
    uint32_t anchor;
  };

  class Scratch {
   public:
    explicit Scratch(const PatternSet& set);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class PatternSet;
    hs_scratch* scratch_ = nullptr;
  };

  static absl::StatusOr<std::unique_ptr<PatternSet>> Compile(const Catalogue& catalogue, Target target);
  // `bytes` must come from Serialize of a set of the same catalogue.
  static absl::StatusOr<std::unique_ptr<PatternSet>> Deserialize(const Catalogue& catalogue, std::string_view bytes);
  ~PatternSet();
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  std::string Serialize() const;

  // Appends every hit in `chunk`, in order of `end`.
  void Scan(std::string_view chunk, Scratch& scratch, std::vector<Hit>* hits) const;

  // Patterns (indices into the catalogue's) that have this anchor.
  const std::vector<uint32_t>& PatternsOf(uint32_t anchor) const { return patterns_of_[anchor]; }
  // Patterns that are not scanned for (rows marked lazy).
  const std::vector<uint32_t>& lazy() const { return lazy_; }

 private:
  explicit PatternSet(const Catalogue& catalogue);
  hs_database* database_ = nullptr;
  std::vector<std::string> anchors_;                 // in the order of the catalogue
  std::vector<std::vector<uint32_t>> patterns_of_;   // by anchor
  std::vector<uint32_t> lazy_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PATTERN_SET_H_
