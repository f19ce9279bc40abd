// report_on.h: the report on a few log texts, for tests of the reasoning half.
#ifndef FIRSTFAULT_TESTS_UNIT_CORRELATE_REPORT_ON_H_
#define FIRSTFAULT_TESTS_UNIT_CORRELATE_REPORT_ON_H_

#include <string>
#include <vector>

#include "correlate/correlate.h"

namespace firstfault {

struct LogText {
  std::string path;
  std::string host;  // empty: not known
  std::string text;
  SourceInfo::Kind kind = SourceInfo::Kind::kUnknown;
};

inline v1::Report ReportOn(const std::vector<LogText>& logs) {
  std::vector<SourceDigest> digests;
  for (const LogText& log : logs) {
    ScanBuffers buffers;
    SourceInfo info;
    info.path = log.path;
    info.kind = log.kind;
    if (!log.host.empty()) info.host = Known{log.host, "folder"};
    SourceScanner scanner(BuiltInEngine(), buffers, info);
    scanner.Feed(log.text);
    digests.push_back(scanner.Finish());
  }
  return Correlate(BuiltInEngine(), digests, {});
}

inline v1::Report ReportOn(const std::string& text) { return ReportOn({LogText{"train.log", "", text}}); }

// Summary and changes, a line each.
inline std::string AdviceOf(const v1::Report& report) {
  std::string out = report.advice().summary() + "\n";
  for (const std::string& change : report.advice().changes()) out += change + "\n";
  return out;
}

inline std::string RoleOf(const v1::Report& report, int32_t rank) {
  for (const v1::RankView& view : report.ranks()) {
    if (view.has_rank() && view.rank() == rank) return view.role();
  }
  return "not listed";
}

}  // namespace firstfault

#endif  // FIRSTFAULT_TESTS_UNIT_CORRELATE_REPORT_ON_H_
