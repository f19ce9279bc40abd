// anchors.h: literals that a line must contain for a pattern to match it.
//
// Why:     one automaton of a thousand whole patterns runs at a few percent of memory speed; one of their
//          literals runs at a good part of it. A line without an anchor of a pattern cannot match it; a line
//          with one is confirmed with RE2. So the answer is the same, and clean logs cost one literal pass.
// Model:   RE2's own prefilter analysis gives the literals of a pattern and which sets of them are
//          necessary; the cheapest necessary set is chosen, avoiding words that healthy lines contain.
//          Neighbouring patterns share words ("NVRM: Xid", "CUDA error"): short windows of the anchors are
//          then chosen so that few literals cover all of them, since the automaton slows with their number.
// Shapes:  anchors are lower case; text is searched without regard to case.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_ANCHORS_H_
#define FIRSTFAULT_CORRELATE_ANCHORS_H_

#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

// Shorter literals are found in almost any text.
inline constexpr int kAnchorBytesMin = 3;

// A set of literals of which every matching line contains at least one; empty if there is none.
// `healthy` is a sample of harmless log text, lower case.
std::vector<std::string> FindAnchors(const std::string& regex, std::string_view healthy);

// For each of `anchor_sets` (one a pattern) a set of literals, each a window of one of its anchors, so that
// every line with an anchor has its window. Together they use few distinct literals.
std::vector<std::vector<std::string>> ShareWindows(const std::vector<std::vector<std::string>>& anchor_sets,
                                                   std::string_view healthy);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_ANCHORS_H_
