#include "coordinator/report_words.h"

#include <algorithm>
#include <iterator>

#include "correlate/text.h"

namespace firstfault {

std::vector<std::string> UnknownWords(const v1::Report& report) {
  std::vector<std::string> out;
  const auto check = [&](std::string_view field, const auto& words, const std::string& word) {
    if (std::find(std::begin(words), std::end(words), word) == std::end(words)) {
      out.push_back(Cat(field, ": '", word, "'"));
    }
  };
  check("verdict", kVerdictWords, report.verdict());
  check("class", kClassWords, report.class_());
  check("device kind", kDeviceWords, report.initiator().device().kind());
  check("state", kStateWords, report.state().state());
  check("finality", kFinalityWords, report.state().finality());
  for (const v1::RankView& rank : report.ranks()) check("role", kRankRoleWords, rank.role());
  for (const v1::Hypothesis& hypothesis : report.hypotheses())
    check("class", kClassWords, hypothesis.class_());
  for (const v1::SourceView& source : report.completeness().sources())
    check("kind", kSourceKindWords, source.kind());
  return out;
}

}  // namespace firstfault
