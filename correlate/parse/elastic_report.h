// elastic_report.h: the failure table that torchrun prints when a worker group fails.
//
// Why:     it is the one place that ties host, global rank, local rank, pid and exit code together; its own
//          "Root Cause" is only the first failure that this host's agent noticed, in whole seconds.
// Errors:  missing fields stay absent; a cut report gives the entries read so far.
// Threads: pure function.
// Source:  torch/distributed/elastic/multiprocessing/errors, releases 1.13 to 2.6.
#ifndef FIRSTFAULT_CORRELATE_PARSE_ELASTIC_REPORT_H_
#define FIRSTFAULT_CORRELATE_PARSE_ELASTIC_REPORT_H_

#include <vector>

#include "correlate/event.h"
#include "correlate/parse/line.h"

namespace firstfault {

// Lines read behind "ChildFailedError": 7 an entry, hosts with many workers.
inline constexpr size_t kReportLinesMax = 1024;

// Lines of one entry's traceback, as indices in the reader; empty where it has none.
struct QuotedTraceback {
  size_t begin = 0, end = 0;
};

struct ElasticReportParse {
  std::vector<ElasticReport> entries;  // `at.line` counts from the start of the reader (0-based index)
  std::vector<QuotedTraceback> tracebacks;  // one an entry
  size_t lines_end = 0;                // index behind the report's last line
};

// Reads from index `from` of the reader, which is the line behind "ChildFailedError:".
ElasticReportParse ParseElasticReport(LineReader& reader, size_t from);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PARSE_ELASTIC_REPORT_H_
