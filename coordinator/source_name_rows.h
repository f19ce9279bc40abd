// source_name_rows.h: what file and folder names say, as a table.
//
// Why:     every launcher, scheduler and collector names its logs in its own way; a new one is a new row.
// Model:   a row is a pattern whose named groups are the fields that the name gives, beside an example that
//          a test runs. Groups: job, host, rank, local_rank, node_rank, stream, attempt; and
//            task        a launcher's task: the rank, or where the log is one torchrun's, the node rank
//            pod         a pod's name: the host, and by its ordinal the node rank
//            maybe_host  a host if other sources confirm it (host_names.h)
// Order:   the first row that matches decides.
// Threads: immutable.
#ifndef FIRSTFAULT_COORDINATOR_SOURCE_NAME_ROWS_H_
#define FIRSTFAULT_COORDINATOR_SOURCE_NAME_ROWS_H_

#include <vector>

#include "correlate/event.h"

namespace firstfault {

struct SourceNameRow {
  // What the pattern must match as a whole: the last part or parts of a path, or the name of one folder.
  enum class Part { kFile, kFolder };
  Part part;
  SourceInfo::Kind kind;
  const char* pattern;   // RE2
  const char* example;   // a path
  const char* expected;  // "key=value" for each field of the example, in alphabetical order
};

const std::vector<SourceNameRow>& SourceNameRows();

// The whole of a pod's name; one of the two groups is the ordinal.
const char* PodOrdinalPattern();

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_SOURCE_NAME_ROWS_H_
