#include "coordinator/cli/nearest.h"

#include <algorithm>
#include <numeric>

#include "coordinator/fold.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Levenshtein distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

// A third of the letters wrong is still a typing error; more is another word. A part of a word ("oom") ranks
// behind one letter off.
constexpr size_t kLettersAWrongOne = 3, kPartOfWord = 2, kPartLettersMin = 3;

}  // namespace

std::vector<std::string> NearestWords(std::string_view word, const std::vector<std::string>& known,
                                      size_t count) {
  word = word.substr(0, 100);  // no name is longer, and the cost is the product of the lengths
  std::vector<std::pair<size_t, const std::string*>> found;
  for (const std::string& candidate : known) {
    size_t distance = Distance(word, candidate);
    const bool part = word.size() >= kPartLettersMin && candidate.find(word) != std::string::npos;
    if (part) distance = std::min(distance, kPartOfWord);
    if (part || distance <= std::max<size_t>(1, word.size() / kLettersAWrongOne)) {
      found.emplace_back(distance, &candidate);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(found.size(), count); ++i) out.push_back(*found[i].second);
  return out;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known, size_t count) {
  const std::vector<std::string> near = NearestWords(word, known, count);
  return near.empty() ? "" : Cat("; did you mean ", FoldNames(near, near.size()), "?");
}

}  // namespace firstfault
