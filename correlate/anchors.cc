#include "correlate/anchors.h"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "correlate/literal_finder.h"

namespace firstfault {
namespace {

constexpr size_t kKeyBytes = LiteralFinder::kKeyBytes;
constexpr size_t kGroupBytes = LiteralFinder::kGroupBytes;

// What an anchor costs: false alarms on healthy lines are worst, then short literals.
struct Cost {
  size_t stops;
  size_t shortness;
  auto operator<=>(const Cost&) const = default;
};

Cost CostOf(const std::string& anchor, const HealthyText& healthy) {
  return {healthy.QuietKeys(anchor).stops, anchor.size() > 64 ? 0 : 64 - anchor.size()};
}

}  // namespace

HealthyText::HealthyText(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (size_t at = 0; at + kGroupBytes <= text.size(); ++at) ++count_[text.substr(at, kGroupBytes)];
}

size_t HealthyText::StopsAt(std::string_view key) const {
  size_t stops = 0;
  for (size_t at = 0; at + kGroupBytes <= key.size(); ++at) {
    const auto it = count_.find(key.substr(at, kGroupBytes));
    if (it != count_.end()) stops += it->second;
  }
  return stops;
}

HealthyText::Quiet HealthyText::QuietKeys(std::string_view literal) const {
  Quiet out{SIZE_MAX, {}};
  for (uint32_t at = 0; at + kKeyBytes <= literal.size(); ++at) {
    const size_t stops = StopsAt(literal.substr(at, kKeyBytes));
    if (stops > out.stops) continue;
    if (stops < out.stops) out = {stops, {}};
    out.at.push_back(at);
  }
  return out;
}

std::vector<std::string> FindAnchors(const std::string& regex, const HealthyText& healthy) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  re2::FilteredRE2 filter(kKeyBytes);
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

std::vector<uint32_t> ChooseKeys(const std::vector<std::string>& anchors, const HealthyText& healthy) {
  // Of the places that stop the finder least, the one whose key most other anchors have too.
  std::map<std::string_view, size_t> shared;
  std::vector<std::vector<uint32_t>> quiet;
  for (const std::string& anchor : anchors) {
    quiet.push_back(healthy.QuietKeys(anchor).at);
    for (uint32_t at : quiet.back()) ++shared[std::string_view(anchor).substr(at, kKeyBytes)];
  }
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < anchors.size(); ++i) {
    const auto rank = [&](uint32_t at) {
      const std::string_view key = std::string_view(anchors[i]).substr(at, kKeyBytes);
      return std::make_pair(shared[key], key);
    };
    keys.push_back(*std::max_element(quiet[i].begin(), quiet[i].end(), [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); }));
  }
  return keys;
}

}  // namespace firstfault
