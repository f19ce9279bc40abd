// content_kind.h: text, binary, or something to unpack, told by the first bytes.
//
// Why:     job folders hold checkpoints, images, core files and profiles beside the logs; scanning them
//          costs time and finds words in noise. Names lie (a rotated log that is gzip without ".gz").
// Model:   known beginnings first; else the share of control bytes. Long runs of NULs do not count: a log
//          on network storage has them where a write was lost or a file was truncated under its writer.
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_CONTENT_KIND_H_
#define FIRSTFAULT_COORDINATOR_CONTENT_KIND_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace firstfault {

// The first bytes that decide what a source is.
inline constexpr size_t kHeadBytes = 64 << 10;

enum class ContentKind : uint8_t {
  kText,
  kUtf16,
  kBinary,
  kCompressed,  // compressed_stream.h undoes it: a log or a tar inside
  kTar,
  kZip,
};

ContentKind ContentKindOf(std::string_view head);

// A verdict about logs, saved beside them (a report of this program as text, markdown or JSON, or a record in
// its words): it quotes faults and is no log.
bool IsVerdictDocument(std::string_view head);

// A zip that torch.save wrote: one of its members has this name.
bool IsCheckpointMember(std::string_view member_name);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CONTENT_KIND_H_
