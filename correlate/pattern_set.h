// pattern_set.h: all patterns of the catalogue in one pass over the bytes.
//
// Why:     hundreds of signatures over gigabytes of logs; scanning whole chunks with one automaton is
//          several times faster than line by line (measured: tests/bench/scan_bench).
// Model:   vectorscan in block mode. No pattern can match a newline (Catalogue lints this), so a hit in a
//          chunk of whole lines belongs to exactly one line, and the set of (line, pattern) hits equals
//          that of RE2 run on each line alone.
// Shapes:  a chunk must end at a line boundary or at the end of input.
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

  // A hit: the pattern matched and its match ends before byte `end` of the chunk.
  struct Hit {
    uint64_t end;
    uint32_t pattern;
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
  static absl::StatusOr<std::unique_ptr<PatternSet>> Deserialize(std::string_view bytes);
  ~PatternSet();
  PatternSet(const PatternSet&) = delete;
  PatternSet& operator=(const PatternSet&) = delete;

  std::string Serialize() const;

  // Appends every hit in `chunk`, in order of `end`. One match can be reported at several ends.
  void Scan(std::string_view chunk, Scratch& scratch, std::vector<Hit>* hits) const;

 private:
  explicit PatternSet(hs_database* database) : database_(database) {}
  hs_database* database_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PATTERN_SET_H_
