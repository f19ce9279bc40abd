// pattern_set.h: the anchors of all patterns of the catalogue, in one pass over the bytes.
//
// Why:     hundreds of signatures over gigabytes of logs; searching whole chunks for what every match must
//          contain is many times faster than matching line by line (measured: tests/bench/scan_bench).
// Model:   the catalogue's build chose the anchors (anchors.h); literal_finder.h finds them. A hit is a
//          candidate: the patterns of the anchor may match the line it is in; line_hits.h confirms with RE2. No
//          pattern can match a newline (Catalogue lints this), so a hit belongs to exactly one line.
// Threads: immutable and shared.
#ifndef FIRSTFAULT_CORRELATE_PATTERN_SET_H_
#define FIRSTFAULT_CORRELATE_PATTERN_SET_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "correlate/catalogue.h"
#include "correlate/literal_finder.h"

namespace firstfault {

class PatternSet {
 public:
  using Hit = LiteralFinder::Hit;

  // The catalogue is only read.
  explicit PatternSet(const Catalogue& catalogue) : PatternSet(IndexOf(catalogue)) {}

  // Appends every hit in `chunk`, in order of `end`.
  void Scan(std::string_view chunk, std::vector<Hit>* hits) const { finder_.Find(chunk, hits); }

  // Patterns (indices into the catalogue's) that have the anchor of this hit.
  const std::vector<uint32_t>& PatternsOf(const Hit& hit) const { return index_.patterns_of[hit.literal]; }
  // Patterns without an anchor: not searched for, only tried on sampled lines.
  const std::vector<uint32_t>& lazy() const { return index_.lazy; }

 private:
  struct Index {
    std::vector<LiteralFinder::Literal> anchors;     // in the order of the catalogue
    std::vector<std::vector<uint32_t>> patterns_of;  // by anchor
    std::vector<uint32_t> lazy;
  };
  static Index IndexOf(const Catalogue& catalogue);
  explicit PatternSet(Index index) : index_(std::move(index)), finder_(index_.anchors) {}

  Index index_;
  LiteralFinder finder_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PATTERN_SET_H_
