// source_reader.h: paths in, the text of each source out.
//
// Why:     people have logs as folders, tarballs and collectors' exports; the engine reads lines. All
//          input of `diagnose` passes through here, in one order, once.
// Model:   collect the files (path_walk.h), sniff each (content_kind.h), unpack while reading
//          (compressed_stream.h, archive_stream.h), name it (source_names.h), decode collectors' records (decode.h). An archive
//          member is a source "logs.tar.gz/n01/train.log"; its own compression, if any, is undone too.
// Units:   bytes of the unpacked source.
// Errors:  what cannot be read is a sentence in ReadSummary::problems, and the rest is read. NotFound only
//          where there is no source at all.
// Order:   by path; independent of the order of the arguments and of the file system.
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_SOURCE_READER_H_
#define FIRSTFAULT_COORDINATOR_SOURCE_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/map_file.h"
#include "correlate/event.h"

namespace firstfault {

// Sees one source at a time: Begin, then Bytes and Hole in file order, then End.
class SourceVisitor {
 public:
  virtual ~SourceVisitor() = default;
  // The host may still be unknown: NameHostsBySiblings() settles it when all sources are read.
  virtual void Begin(const SourceInfo& info) = 0;
  virtual void Bytes(std::string_view text) = 0;  // any cut; `text` is not kept
  virtual void Hole(uint64_t bytes) = 0;          // never written: nothing joins across it
  virtual void End() = 0;
};

struct ReadLimits {
  // One compressed source, unpacked. Logs shrink to a twentieth at best: 3 GiB of .gz are still read whole,
  // while a bomb ends after minutes instead of filling a day.
  uint64_t unpacked_bytes_max = uint64_t{64} << 30;
  // Members of one archive, folders included.
  int64_t members_max = 1'000'000;
};

struct ReadOptions {
  const SourceMap* map = nullptr;  // --map, applied before Begin()
  ReadLimits limits;
};

struct ReadSummary {
  int64_t sources = 0;          // seen by the visitor
  int64_t empty = 0;            // of these, without a byte
  int64_t binary = 0;           // not text, not read
  int64_t flight_recorder = 0;  // of these, dumps of torch's Flight Recorder
  std::vector<std::string> binary_named;  // the first few of the others
  int64_t not_logs = 0;         // source code and documents in folders and archives
  int64_t duplicates = 0;       // files that were read under another name
  uint64_t bytes = 0;           // text read, before decoding
  int64_t broken_off = 0;       // logs that were begun and not read to their end
  std::vector<std::string> problems;
};

// What was not text, in a sentence with a few names; empty if there was nothing.
std::string BinarySentence(const ReadSummary& summary);

// `paths`: files, folders, archives, or "-" for standard input. NotFound where no text at all was read.
absl::StatusOr<ReadSummary> ReadSources(const std::vector<std::string>& paths, const ReadOptions& options,
                                        SourceVisitor* visitor);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_SOURCE_READER_H_
