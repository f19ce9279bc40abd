// spool.h: what was observed and not yet acknowledged, on disk.
//
// Why:     a coordinator may be away for hours, and an agent may be killed at any moment; neither may lose what
//          was seen, nor report it twice.
// Model:   records are gathered and made durable together with the agent's own state after them, so that a
//          restart goes on exactly behind the last durable record. A batch's sequence is its position in
//          the log. The last row is never trimmed: it holds the state. Each batch names the sources that it speaks
//          of: one that is lost takes no other with it.
// Limits:  stored bytes. Past three quarters routine records are dropped, past all of it every record; both are
//          counted, and a Gap record says so as soon as there is room.
// Errors:  a failed Commit keeps the records for the next one, bounded by kGatheredBytesMax.
// Threads: one thread.
#ifndef FIRSTFAULT_AGENT_SPOOL_H_
#define FIRSTFAULT_AGENT_SPOOL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/event_log.h"
#include "proto/record.pb.h"
#include "proto/spool.pb.h"

namespace firstfault::agent {

// A batch is closed at any of these (design, section 11).
inline constexpr int kBatchRecordsMax = 512;
inline constexpr size_t kBatchBytes = 128 << 10;
inline constexpr int64_t kBatchNs = 20'000'000;
// Records kept in memory while none can be stored.
inline constexpr size_t kGatheredBytesMax = 4 << 20;
// Acknowledged batches that are trimmed at a time: each trim is a sync.
inline constexpr uint64_t kTrimBatches = 64;
inline constexpr uint64_t kSpoolBytesMax = 256 << 20;

class Spool {
 public:
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const std::string& folder, uint64_t bytes_max = kSpoolBytesMax);

  // As of the last durable record.
  const v1::SpoolState& state() const { return state_; }
  const std::string& id() const { return log_->id(); }

  // A source is opened, once in a run of the agent, before anything else is told of it.
  void Add(int64_t now_ns, v1::Record record);
  // Whether what was added should be made durable now.
  bool Due(int64_t now_ns) const;
  // Makes what was added durable. `state` is the agent's after it; job and attempt are those of the batches.
  // The spool fills in what was dropped.
  absl::Status Commit(v1::SpoolState state);
  bool empty() const { return gathered_.empty(); }

  // Batches that are durable here, in order of sequence. `visit` must not use the spool.
  absl::Status Read(uint64_t from, const std::function<bool(const v1::Batch&)>& visit) const;
  uint64_t next_sequence() const { return log_->next_position(); }
  // Everything up to `sequence` is durable elsewhere.
  void Acknowledge(uint64_t sequence);
  bool all_acknowledged() const { return acknowledged_ + 1 >= log_->next_position(); }

  uint64_t bytes() const { return log_->bytes(); }
  uint64_t lost() const { return log_->lost(); }
  uint64_t dropped_records() const { return state_.dropped_records() + dropped_.records(); }
  // A reader that can wait, should.
  bool crowded() const { return log_->bytes() >= bytes_max_ / 2 || gathered_bytes_ >= kGatheredBytesMax / 2; }

 private:
  Spool(std::unique_ptr<EventLog> log, uint64_t bytes_max) : log_(std::move(log)), bytes_max_(bytes_max) {}
  void Drop(const v1::Record& record);

  const std::unique_ptr<EventLog> log_;
  const uint64_t bytes_max_;
  v1::SpoolState state_;
  std::map<uint32_t, v1::Record> opened_;  // by source
  std::vector<v1::Record> gathered_;
  size_t gathered_bytes_ = 0;
  int64_t gathered_since_ns_ = 0;
  v1::Gap dropped_;  // since the last Commit
  uint64_t acknowledged_ = 0, trimmed_ = 0;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_AGENT_SPOOL_H_
