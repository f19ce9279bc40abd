// source_names.h: what the name and the first lines of a source say about it.
//
// Why:     most logs do not print their host, and many not their rank; the file or folder does.
// Model:   a table of name rows (source_name_rows.h), the first that matches the file name wins; folders fill
//          what it leaves open, the nearest first. A name is taken for a rank only where a row says so: a
//          bare number is nothing. Whether a word is a host is settled by the other sources of the run, in
//          host_names.h. The first lines tell a kernel log, whose lines name its host.
// Errors:  what is not known stays absent.
// Threads: pure; safe to call concurrently.
// Order:   depends on the one source alone.
// Example: "run/none_ab12cd34/attempt_1/3/stderr.log" -> local rank 3, attempt 1, stderr.
#ifndef FIRSTFAULT_COORDINATOR_SOURCE_NAMES_H_
#define FIRSTFAULT_COORDINATOR_SOURCE_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "correlate/event.h"

namespace firstfault {

// `head`: the first 64 KiB of text, or less.
SourceInfo NameSource(std::string path, std::string_view head);

// Parts of a path, compression and archive endings taken off.
struct PathParts {
  std::vector<std::string_view> folders;  // outermost first
  std::string_view file;
};
PathParts SplitPath(std::string_view path);

// "rank0.stderr.log.1" -> "rank0": without stream, ending and rotation number.
std::string_view FileStem(std::string_view file);

// The host that a name row with `{maybe_host}` sees before the rank ("vx-0-rank0.log" -> "vx-0"), or empty.
// Only the other sources can tell it from a job's name.
std::string_view HostBeforeRank(std::string_view path);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_SOURCE_NAMES_H_
