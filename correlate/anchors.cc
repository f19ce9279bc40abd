#include "correlate/anchors.h"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace firstfault {
namespace {

// What an anchor costs: false alarms on healthy lines are worst, then short literals.
struct Cost {
  size_t healthy_hits;
  size_t shortness;
  auto operator<=>(const Cost&) const = default;
};

Cost CostOf(const std::string& anchor, std::string_view healthy) {
  size_t hits = 0;
  for (size_t at = healthy.find(anchor); at != std::string_view::npos; at = healthy.find(anchor, at + 1)) ++hits;
  return {hits, anchor.size() > 64 ? 0 : 64 - anchor.size()};
}

// Eight bytes are what vectorscan's literal matcher compares at once; a longer literal is not faster.
constexpr size_t kWindowBytes = 8;
// A window shared by more patterns would put too many of them up for confirmation on one line.
constexpr size_t kPatternsPerWindowMax = 12;

}  // namespace

std::vector<std::string> FindAnchors(const std::string& regex, std::string_view healthy) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  re2::FilteredRE2 filter(kAnchorBytesMin);
  int id = 0;
  if (filter.Add(regex, options, &id) != RE2::NoError) return {};
  std::vector<std::string> atoms;
  filter.Compile(&atoms);
  if (atoms.empty()) return {};

  // Whether a line that contains only the atoms marked true could still match.
  const auto could_match = [&](const std::vector<bool>& present) {
    std::vector<int> indices, passed;
    for (size_t i = 0; i < present.size(); ++i) {
      if (present[i]) indices.push_back(static_cast<int>(i));
    }
    filter.AllPotentials(indices, &passed);
    return !passed.empty();
  };
  if (could_match(std::vector<bool>(atoms.size(), false))) return {};

  // Drop the costliest atoms one by one, as long as a line without all of the kept ones cannot match.
  std::vector<size_t> order(atoms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<Cost> costs;
  for (const std::string& atom : atoms) costs.push_back(CostOf(atom, healthy));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return costs[b] < costs[a]; });
  std::vector<bool> kept(atoms.size(), true);
  for (size_t i : order) {
    kept[i] = false;
    std::vector<bool> absent_anchors(atoms.size());
    for (size_t j = 0; j < atoms.size(); ++j) absent_anchors[j] = !kept[j];
    if (could_match(absent_anchors)) kept[i] = true;
  }
  std::vector<std::string> anchors;
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (kept[i]) anchors.push_back(atoms[i]);
  }
  return anchors;
}

std::vector<std::vector<std::string>> ShareWindows(const std::vector<std::vector<std::string>>& anchor_sets,
                                                   std::string_view healthy) {
  std::map<std::string, std::set<size_t>> patterns_of;  // anchor -> patterns
  for (size_t i = 0; i < anchor_sets.size(); ++i) {
    for (const std::string& anchor : anchor_sets[i]) patterns_of[anchor].insert(i);
  }
  // Every window of every anchor that healthy text does not contain; the whole anchor where it is short or
  // all its windows are common.
  std::map<std::string, std::set<std::string>> anchors_of;  // window -> anchors
  for (const auto& [anchor, patterns] : patterns_of) {
    bool any = false;
    for (size_t at = 0; at + kWindowBytes <= anchor.size(); ++at) {
      const std::string window = anchor.substr(at, kWindowBytes);
      if (healthy.find(window) != std::string_view::npos) continue;
      anchors_of[window].insert(anchor);
      any = true;
    }
    if (!any) anchors_of[anchor].insert(anchor);
  }
  std::set<std::string> open;
  for (const auto& [anchor, patterns] : patterns_of) open.insert(anchor);
  // The open anchors that a window would take, within the limit.
  const auto cover_of = [&](const std::string& window) {
    std::vector<std::string> cover;
    std::set<size_t> patterns;
    for (const std::string& anchor : anchors_of[window]) {
      if (!open.contains(anchor)) continue;
      std::set<size_t> joined = patterns;
      joined.insert(patterns_of[anchor].begin(), patterns_of[anchor].end());
      if (!cover.empty() && joined.size() > kPatternsPerWindowMax) continue;
      patterns = std::move(joined);
      cover.push_back(anchor);
    }
    return cover;
  };
  // Greedy cover with a lazy queue: a window's count only falls, so one that still leads after recounting is
  // the best. Ties go to the first in order: the result is the same everywhere.
  using Entry = std::pair<size_t, std::string>;
  const auto worse = [](const Entry& a, const Entry& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; };
  std::priority_queue<Entry, std::vector<Entry>, decltype(worse)> queue(worse);
  for (const auto& [window, anchors] : anchors_of) queue.push({anchors.size(), window});
  std::vector<std::vector<std::string>> out(anchor_sets.size());
  while (!open.empty()) {
    const auto [counted, window] = queue.top();
    queue.pop();
    const std::vector<std::string> cover = cover_of(window);
    if (cover.empty()) continue;
    if (cover.size() < counted) {
      queue.push({cover.size(), window});
      continue;
    }
    for (const std::string& anchor : cover) {
      open.erase(anchor);
      for (size_t pattern : patterns_of[anchor]) {
        std::vector<std::string>& literals = out[pattern];
        if (std::find(literals.begin(), literals.end(), window) == literals.end()) literals.push_back(window);
      }
    }
    queue.push({cover.size(), window});  // the limit may have left some of its anchors open
  }
  return out;
}

}  // namespace firstfault
