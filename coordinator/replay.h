// replay.h: a recording to a report.
//
// Why:     online is offline with a socket: the sources are put together from the spans that agents sent, and
//          read, named and reasoned about as `diagnose` does with a folder HOST/PATH.
// Model:   a source is a host and a path; its spans may overlap (sent again) and leave holes (not sent).
// Order:   the report depends on the set of records alone, not on their arrival; records of one spool have the
//          order of their sequence numbers.
// Errors:  none: what is missing or contradicts itself is a sentence in the report's input problems.
// Threads: pure; safe to call concurrently.
#ifndef FIRSTFAULT_COORDINATOR_REPLAY_H_
#define FIRSTFAULT_COORDINATOR_REPLAY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "correlate/source_scanner.h"
#include "proto/ingest.pb.h"
#include "proto/report.pb.h"

namespace firstfault {

struct Replay {
  v1::Report report;           // `state` says where the job stands; finality is the caller's to decide
  bool job_closed = false;     // the launcher's end was seen
  std::optional<v1::Place> behind;  // the rank whose steps are behind all others'
  // The report if nothing more comes, where that is another one: while a job runs, logs are merely not equally far.
  std::optional<v1::Report> settled;
  bool all_closed = false;     // there are sources, of every expected host, and all were read to their end
};

// `batches` of one job and attempt; `lost`: batches that were recorded and cannot be read.
Replay ReplayBatches(const Engine& engine, const std::vector<v1::LoggedBatch>& batches, uint64_t lost);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_REPLAY_H_
