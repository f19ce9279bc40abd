// The small parsers that read numbers, lists and tables out of messages.
#include <cmath>
#include <string_view>

#include "correlate/check.h"
#include "correlate/incident.h"
#include "correlate/parse/elastic_report.h"
#include "correlate/parse/prefix.h"
#include "correlate/parse/progress.h"
#include "correlate/parse/stamp.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

void CheckReport(std::string_view text) {
  firstfault::LineReader reader = firstfault::fuzz::ReaderOf(text);
  const firstfault::ElasticReportParse parsed = firstfault::ParseElasticReport(reader, 0);
  FF_CHECK(parsed.lines_end <= firstfault::Split(text, '\n').size());
  for (const firstfault::ElasticReport& entry : parsed.entries) FF_CHECK(entry.at.line < parsed.lines_end);
}

void CheckStamp(const std::optional<firstfault::Stamp>& stamp) {
  if (!stamp) return;
  FF_CHECK(stamp->resolution_ns > 0);
  firstfault::FormatUtc(stamp->ns, 3);
}

void CheckLine(std::string_view line) {
  const firstfault::ProgressFields fields = firstfault::ParseProgress(line);
  FF_CHECK(!fields.step || *fields.step >= 0);
  FF_CHECK(!fields.rank || *fields.rank >= 0);
  for (const auto& bytes : {fields.memory_bytes, firstfault::ParseSize(line)}) FF_CHECK(!bytes || *bytes >= 0);
  CheckStamp(firstfault::Peel(line).prefix.stamp);
  FF_CHECK(firstfault::ParseRankList(line).size() <= 100'000);
  for (const std::string& host : firstfault::ExpandHostList(line)) firstfault::ShortHost(host);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = firstfault::fuzz::Text(data, size);
  CheckReport(text);
  for (const std::string_view line : firstfault::Split(text, '\n')) CheckLine(line);
  return 0;
}
