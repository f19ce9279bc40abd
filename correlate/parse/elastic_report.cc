#include "correlate/parse/elastic_report.h"

#include <re2/re2.h>

#include "correlate/parse/traceback.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// "rank      : 4 (local_rank: 0)" -> key "rank", value "4 (local_rank: 0)".
bool SplitField(std::string_view message, std::string_view* key, std::string_view* value) {
  const size_t colon = message.find(':');
  if (colon == std::string_view::npos) return false;
  *key = Trim(message.substr(0, colon));
  *value = Trim(message.substr(colon + 1));
  return !key->empty();
}

// The number at the front of the text, and the one after "name: " in it.
std::optional<int32_t> LeadingNumber(std::string_view text) {
  return ParseNumber<int32_t>(text.substr(0, text.find(' ')));
}
std::optional<int32_t> InnerNumber(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = Trim(text.substr(at + name.size()));
  return ParseNumber<int32_t>(rest.substr(0, rest.find(')')));
}

}  // namespace

ElasticReportParse ParseElasticReport(LineReader& reader, size_t from) {
  ElasticReportParse out;
  out.lines_end = from;
  bool under_root = false;
  int rules = 0;
  for (size_t i = from; i < from + kReportLinesMax; ++i) {
    const SourceLine* line = reader.At(i);
    if (line == nullptr) break;
    const std::string_view message = Trim(line->message());
    if (message.starts_with("=====")) {
      out.lines_end = i + 1;
      if (++rules == 2) break;
      continue;
    }
    if (message.starts_with("Root Cause")) {
      under_root = true;
    } else if (message.starts_with("[") && message.ends_with("]:")) {
      ElasticReport& entry = out.entries.emplace_back();
      out.tracebacks.emplace_back();
      entry.is_root = under_root;
      entry.at.line = static_cast<uint32_t>(i);
      entry.at.byte_offset = line->offset;
    } else if (std::string_view key, value; !out.entries.empty() && SplitField(message, &key, &value)) {
      ElasticReport& entry = out.entries.back();
      QuotedTraceback& quoted = out.tracebacks.back();
      if (quoted.begin != 0) {
        quoted.end = i + 1;
      } else if (key == "time") {
        entry.time = std::string(value);
      } else if (key == "host") {
        entry.host = std::string(value);
      } else if (key == "rank") {
        entry.rank = LeadingNumber(value);
        entry.local_rank = InnerNumber(value, "local_rank:");
      } else if (key == "exitcode") {
        entry.exit_code = LeadingNumber(value);
        entry.pid = InnerNumber(value, "pid:");
      } else if (key == "traceback") {
        entry.traceback = std::string(value);
        if (IsTracebackStart(value)) quoted.begin = quoted.end = i + 1;
      }
    } else if (rules == 0 && !message.empty()) {
      break;  // not a report after all
    }
    out.lines_end = i + 1;
  }
  return out;
}

}  // namespace firstfault
