// event_log.h: a durable log of batches in one file.
//
// Why:     what an agent has seen and what a coordinator has acknowledged must survive kill -9, a full disk and
//          damage to the file. Spool and recording are the same thing.
// Model:   a row a batch, in positions counted from 1 without holes. SQLite (WAL, synchronous=FULL) orders and
//          syncs the rows; each is a zstd frame with a content checksum that also covers its position, so a row
//          proves itself. Where SQLite cannot read the file, or rows are missing, the file is set aside as
//          PATH.damaged, and the rows that prove themselves are carved out of its pages (page_carver.h) into
//          a new file. A lost row keeps its position as an empty one.
// Errors:  Open() fails only where no file can be made. ResourceExhausted: no space; nothing was appended,
//          and a later Append() may succeed. AlreadyExists: see Append(). A damaged row is never returned.
// Cost:    Open() reads the whole file.
// Threads: one at a time; one EventLog a file.
#ifndef FIRSTFAULT_PROTO_EVENT_LOG_H_
#define FIRSTFAULT_PROTO_EVENT_LOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/ingest.pb.h"

struct sqlite3;

namespace firstfault {

// A stored batch is refused beyond this: four times what an agent may send in one.
inline constexpr size_t kLoggedBatchBytesMax = 16 << 20;

class EventLog {
 public:
  static absl::StatusOr<std::unique_ptr<EventLog>> Open(const std::string& path);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // All or none, durable when it returns: batches of many agents share one sync. Sets their positions and
  // returns the last one. AlreadyExists where a sequence is not above LastSequence() of its spool. Strings
  // (paths, names) must be UTF-8: protobuf would not read the row again.
  absl::StatusOr<uint64_t> Append(std::span<v1::LoggedBatch> batches);

  // Shows the rows from `from` on, in order, until `visit` returns false. `visit` must not use this log.
  absl::Status Read(uint64_t from, const std::function<bool(const v1::LoggedBatch&)>& visit);

  // Forgets the rows up to `position`. Space is used again; the file does not shrink.
  absl::Status Trim(uint64_t position);

  // Random, made with the file; another one after damage, since positions may then be given twice.
  const std::string& id() const { return id_; }
  uint64_t next_position() const { return next_; }
  // Rows that were appended and cannot be read; at least.
  uint64_t lost() const { return lost_; }
  // Stored bytes of the rows that are kept.
  uint64_t bytes() const { return bytes_; }
  // Of the rows seen since, or present at, Open(); 0: none.
  uint64_t LastSequence(const std::string& spool_id) const;
  const std::map<std::string, uint64_t>& last_sequences() const { return last_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  using Database = std::unique_ptr<sqlite3, Close>;

  explicit EventLog(std::string path) : path_(std::move(path)) {}
  absl::Status Connect();
  // OutOfRange: a row is missing; DataLoss: SQLite cannot read the file.
  absl::Status Load();
  absl::Status Settle();
  // A new file at `path` from what can be carved out of the one there, which is set aside. Rows behind `trimmed`
  // that are not found are lost ones.
  static absl::Status Rebuild(const std::string& path, std::optional<uint64_t> trimmed);
  absl::Status CopyRows(const std::string& damaged, std::optional<uint64_t> trimmed);
  absl::Status Run(const char* sql);
  absl::Status Failure(int code) const;

  const std::string path_;
  Database database_;
  std::string id_;
  uint64_t next_ = 1, trimmed_ = 0, lost_ = 0, bytes_ = 0;
  bool trimmed_known_ = false;  // read from the file
  std::map<std::string, uint64_t> last_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_PROTO_EVENT_LOG_H_
