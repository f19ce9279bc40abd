// correlate.h: the single entry of the reasoning half.
//
// Why:     same digests, same report: offline on a folder, online on a recording, in any arrival order.
// Errors:  always returns a report; what could not be known is in `completeness` and `would_settle`.
// Threads: pure; safe to call concurrently.
#ifndef FIRSTFAULT_CORRELATE_CORRELATE_H_
#define FIRSTFAULT_CORRELATE_CORRELATE_H_

#include <optional>
#include <string>
#include <vector>

#include "correlate/event.h"
#include "correlate/source_scanner.h"
#include "proto/report.pb.h"

namespace firstfault {

struct CorrelateOptions {
  std::optional<std::string> job;      // only sources of this job
  std::optional<int32_t> attempt;      // default: the last attempt seen
  std::optional<int64_t> since_ns, until_ns;  // Unix time; events with a known wall time outside are left out
  std::vector<std::string> input_problems;    // what the reader could not read, for completeness
  int64_t broken_off = 0;  // of these, logs that were begun and not read to their end
  bool running = false;    // more will come: how far one log is says nothing about another yet
};

// Digests may be in any order; they are not modified.
v1::Report Correlate(const Engine& engine, const std::vector<SourceDigest>& sources,
                     const CorrelateOptions& options);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CORRELATE_H_
