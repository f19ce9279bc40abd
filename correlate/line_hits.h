// line_hits.h: which lines of a chunk match which patterns.
//
// Why:     the search reports where anchors end in a chunk; everything above wants lines and patterns.
// Model:   lines that need cleaning (terminal escapes, redrawn bars, NULs) count as what is left after
//          cleaning. The result equals RE2 run on every cleaned line (tests/unit/correlate/oracle_test.cc).
// Shapes:  offsets are relative to the chunk, `end` without the newline; lines in order, patterns of a line
//          without repetition, in no particular order.
// Threads: pure apart from its working memory.
#ifndef FIRSTFAULT_CORRELATE_LINE_HITS_H_
#define FIRSTFAULT_CORRELATE_LINE_HITS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "correlate/pattern_set.h"

namespace firstfault {

struct LineHit {
  uint64_t begin = 0, end = 0;
  std::vector<uint32_t> patterns;
};

// `hits` is working memory. A chunk holds whole lines; its last one may lack the newline.
std::vector<LineHit> FindLineHits(const Catalogue& catalogue, const PatternSet& patterns, std::vector<PatternSet::Hit>& hits,
                                  std::string_view chunk);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_LINE_HITS_H_
