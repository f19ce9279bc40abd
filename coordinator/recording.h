// recording.h: what agents have sent, one file a job and attempt in a folder.
//
// Why:     every answer is made from a recording alone, so it can be made again; and an agent may forget what is
//          recorded.
// Model:   sequence numbers belong to a spool and go over all of its jobs; a batch that is not above what is
//          durable of its spool is a duplicate and is dropped. Batches of many agents share one sync a file.
// Errors:  ResourceExhausted, Unavailable: the disk; what was appended before in the same call stays. A damaged
//          file costs its damaged rows, see proto/event_log.h.
// Limits:  kJobNameBytesMax, kAttemptMax, kRecordingsMax. Every recording of the folder is open: retention.h keeps them few.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_RECORDING_H_
#define FIRSTFAULT_COORDINATOR_RECORDING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/event_log.h"

namespace firstfault {

// Fits a file name when every byte of it must be written as three.
inline constexpr size_t kJobNameBytesMax = 64;

// Each is an open file or three; the retention of a month has far fewer.
inline constexpr size_t kRecordingsMax = 5000;
// Restarts of one job. Its own token must not fill the folder.
inline constexpr uint32_t kAttemptMax = 1000;

struct JobKey {
  std::string job;
  uint32_t attempt = 0;
  auto operator<=>(const JobKey&) const = default;
};

struct RecordingSummary {
  JobKey key;
  uint64_t batches = 0, records = 0;
  uint64_t bytes = 0;       // as sent
  uint64_t file_bytes = 0;  // as stored
  int64_t first_ns = 0, last_ns = 0;  // arrival of its first and last batch
  std::set<std::string> hosts;
  uint64_t evidence = 0;  // records that may tell of a failure
  uint64_t lost = 0;  // batches that were recorded and cannot be read
};

// No log is longer: a quarter of a petabyte, and the lines that a report can number. Sums of such numbers cannot wrap.
inline constexpr uint64_t kSourceBytesMax = 1ULL << 48, kSourceLinesMax = 1ULL << 31;

// Whether what a record says of places in a source can be. A recording may hold what an older release let in.
bool IsPossible(const v1::Record& record);
// Why a batch can never be recorded; nullopt: it can.
std::optional<std::string> RefusalOf(const v1::Batch& batch);

class Recordings {
 public:
  // Makes the folder where it is missing.
  static absl::StatusOr<std::unique_ptr<Recordings>> Open(const std::string& folder, size_t files_max = kRecordingsMax);

  // 1 for a spool that is new here.
  uint64_t NextSequence(const std::string& spool_id) const;

  // Whether it is recorded already, or may be.
  bool HasRoomFor(const JobKey& key) const;

  // Durable when OK. Of each spool, in the order given: a later batch never is durable without an earlier one.
  // Duplicates are dropped. RefusalOf() of each must be nullopt.
  absl::Status Append(std::vector<v1::LoggedBatch> batches);

  // Newest arrival first.
  std::vector<RecordingSummary> Summaries() const;
  std::optional<RecordingSummary> SummaryOf(const JobKey& key) const;
  // Gives the recording up and removes its file. What its spools have had acknowledged stays known: none sends it again.
  absl::Status Forget(const JobKey& key);

  // In order of arrival.
  absl::StatusOr<std::vector<v1::LoggedBatch>> Read(const JobKey& key) const;

 private:
  struct File {
    std::unique_ptr<EventLog> log;
    RecordingSummary summary;
  };

  Recordings(std::string folder, size_t files_max) : folder_(std::move(folder)), files_max_(files_max) {}
  absl::StatusOr<File*> FileOf(const JobKey& key);
  absl::Status OpenFile(const JobKey& key, const std::string& path);
  void Know(const EventLog& log);

  absl::Status OpenForgotten();

  const std::string folder_;
  const size_t files_max_;
  mutable std::mutex mutex_;
  std::map<JobKey, File> files_;
  std::unique_ptr<EventLog> forgotten_;   // the last sequences of recordings that are gone, a row without records each
  std::map<std::string, uint64_t> last_;  // durable sequence of each spool
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_RECORDING_H_
