#include "correlate/pattern_set.h"

#include <map>
#include <string>

namespace firstfault {

PatternSet::Index PatternSet::IndexOf(const Catalogue& catalogue) {
  Index out;
  std::map<std::string_view, size_t> known;
  for (uint32_t i = 0; i < catalogue.patterns().size(); ++i) {
    const auto& anchors = catalogue.patterns()[i].row->anchor();
    if (anchors.empty()) out.lazy.push_back(i);
    for (const v1::Anchor& anchor : anchors) {
      const auto [it, fresh] = known.try_emplace(anchor.text(), out.anchors.size());
      if (fresh) {
        out.anchors.push_back({anchor.text(), anchor.key()});
        out.patterns_of.emplace_back();
      }
      out.patterns_of[it->second].push_back(i);
    }
  }
  return out;
}

}  // namespace firstfault
