// anchors.h: literals that a line must contain for a pattern to match it.
//
// Why:     one automaton of a thousand whole patterns runs at a few percent of memory speed; a search for
//          short literals (literal_finder.h) at a good part of it. A line without an anchor of a pattern cannot
//          match it; a line with one is confirmed with RE2. So the answer is the same, and clean logs cost one
//          literal pass.
// Model:   RE2's own prefilter analysis gives the literals of a pattern and which sets of them are
//          necessary; the cheapest necessary set is chosen, avoiding words that healthy lines contain.
//          An anchor is found by six of its bytes, its key: those that healthy text resembles least and
//          that most other anchors have too ("NVRM: Xid", "CUDA error"), so that there are few keys.
// Shapes:  anchors are lower case; text is searched without regard to case.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_ANCHORS_H_
#define FIRSTFAULT_CORRELATE_ANCHORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

// A set of literals of which every matching line contains at least one, each of LiteralFinder::kKeyBytes at
// least; empty if there is none. `healthy` is a sample of harmless log text, lower case.
std::vector<std::string> FindAnchors(const std::string& regex, std::string_view healthy);

// For each of the anchors, all different, where its key begins.
std::vector<uint32_t> ChooseKeys(const std::vector<std::string>& anchors, std::string_view healthy);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_ANCHORS_H_
