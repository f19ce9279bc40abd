// load.h: paths of a command line to what the engine reasons about.
//
// Why:     the one place where reading (source_reader.h) and scanning (correlate/source_scanner.h) meet.
// Model:   each source is scanned while it is read; hosts that only the other sources can settle, and the
//          zones of hosts, are filled in when all are known.
// Errors:  NotFound where there is nothing to read, InvalidArgument for a bad map or zone; anything less is a
//          sentence in `problems`.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_LOAD_H_
#define FIRSTFAULT_COORDINATOR_LOAD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "correlate/source_scanner.h"

namespace firstfault {

struct LoadOptions {
  std::string map_file;            // empty: none
  std::vector<std::string> zones;  // HOST=ZONE each
  int64_t now_ns = 0;              // Unix: the offset of a named zone, for sources without a file time
  // Called often, with what has been read so far. May be empty.
  std::function<void(int64_t sources, uint64_t bytes)> progress;
};

struct LoadedSources {
  std::vector<SourceDigest> digests;  // by path
  std::vector<std::string> problems;  // what could not be read, in sentences
  int64_t broken_off = 0;             // logs that were begun and not read to their end
};

absl::StatusOr<LoadedSources> LoadSources(const Engine& engine, const std::vector<std::string>& paths,
                                          const LoadOptions& options);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_LOAD_H_
