// anchors.h: literals that a line must contain for a pattern to match it.
//
// Why:     one automaton of a thousand whole patterns runs at a few percent of memory speed; a search for
//          short literals (literal_finder.h) at a good part of it. A line without an anchor of a pattern cannot
//          match it; a line with one is confirmed with RE2. So the answer is the same, and clean logs cost one
//          literal pass.
// Model:   RE2's own prefilter analysis gives the literals of a pattern and which sets of them are
//          necessary; the cheapest necessary set is chosen, avoiding what healthy lines are made of.
//          An anchor is found by seven of its bytes, its key: those that healthy text resembles least and
//          that most other anchors have too ("NVRM: Xid", "CUDA error"), so that there are few keys.
// Shapes:  anchors are lower case; text is searched without regard to case.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_ANCHORS_H_
#define FIRSTFAULT_CORRELATE_ANCHORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

// A sample of harmless log text.
class HealthyText {
 public:
  explicit HealthyText(std::string text);
  // How often the finder would stop in it for this key.
  size_t StopsAt(std::string_view key) const;
  // The least stops of a key in `literal`, and all places of keys with so few.
  struct Quiet {
    size_t stops;
    std::vector<uint32_t> at;
  };
  Quiet QuietKeys(std::string_view literal) const;

 private:
  std::map<std::string, size_t, std::less<>> count_;  // of each group of bytes that the finder looks up
};

// A set of literals of which every matching line contains at least one, each of LiteralFinder::kKeyBytes at
// least; empty if there is none.
std::vector<std::string> FindAnchors(const std::string& regex, const HealthyText& healthy);

// For each of the anchors, all different, where its key begins.
std::vector<uint32_t> ChooseKeys(const std::vector<std::string>& anchors, const HealthyText& healthy);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_ANCHORS_H_
