#include "coordinator/recording.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "coordinator/escape.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".recording";
constexpr char kForgottenName[] = "forgotten.sequences";

// A job is called what its user likes; a file is not. "a/b", 2 -> "a%2Fb.2.recording".
std::string FileName(const JobKey& key) { return Cat(Escaped(key.job), ".", key.attempt, kEnding); }

// nullopt: not the name of a recording (set aside, being written, another's).
std::optional<JobKey> KeyOf(const std::string& file_name) {
  if (!file_name.ends_with(kEnding)) return std::nullopt;
  const std::string_view stem = std::string_view(file_name).substr(0, file_name.size() - kEnding.size());
  const size_t dot = stem.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto attempt = ParseNumber<uint32_t>(stem.substr(dot + 1));
  auto job = Unescaped(stem.substr(0, dot));
  if (!attempt || !job) return std::nullopt;
  JobKey key{*std::move(job), *attempt};
  return FileName(key) == file_name ? std::optional(std::move(key)) : std::nullopt;
}

bool IsEvidence(const v1::Record& record) {
  const v1::Span::Reason reason = record.span().reason();
  return reason == v1::Span::MATCH || reason == v1::Span::ALL || record.has_process_exit() || record.has_job_closed();
}

void Count(const v1::LoggedBatch& batch, RecordingSummary* summary) {
  if (summary->batches == 0) summary->first_ns = batch.arrived_ns();
  summary->last_ns = std::max(summary->last_ns, batch.arrived_ns());
  summary->first_ns = std::min(summary->first_ns, batch.arrived_ns());
  ++summary->batches;
  summary->records += static_cast<uint64_t>(batch.batch().record_size());
  summary->bytes += batch.batch().ByteSizeLong();
  summary->hosts.insert(batch.host());
  summary->evidence += static_cast<uint64_t>(std::count_if(batch.batch().record().begin(), batch.batch().record().end(), IsEvidence));
}

}  // namespace

bool IsPossible(const v1::Record& record) {
  const v1::Span& span = record.span();
  const v1::SourceClosed& closed = record.source_closed();
  return span.byte_offset() <= kSourceBytesMax && span.first_line() <= kSourceLinesMax && closed.bytes() <= kSourceBytesMax &&
         closed.lines() <= kSourceLinesMax;
}

std::optional<std::string> RefusalOf(const v1::Batch& batch) {
  if (batch.sequence() == 0) return "a batch has no sequence number";
  if (batch.job().empty()) return "a batch names no job";
  if (batch.job().size() > kJobNameBytesMax) return Cat("a job's name is longer than ", kJobNameBytesMax, " bytes");
  if (batch.attempt() > kAttemptMax) return Cat("an attempt beyond ", kAttemptMax);
  if (!std::all_of(batch.record().begin(), batch.record().end(), IsPossible)) return "a record is about a place that no log has";
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<Recordings>> Recordings::Open(const std::string& folder, size_t files_max) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(Cat(folder, ": ", error.message()));
  std::unique_ptr<Recordings> recordings(new Recordings(folder, files_max));
  std::vector<std::string> names;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return absl::UnavailableError(Cat(folder, ": ", error.message()));
  for (const std::string& name : names) {
    const auto key = KeyOf(name);
    if (!key) continue;
    if (auto status = recordings->OpenFile(*key, Cat(folder, "/", name)); !status.ok()) return status;
  }
  // Made when it is needed: a full disk must not keep us from starting.
  if (fs::exists(Cat(folder, "/", kForgottenName), error)) {
    if (auto status = recordings->OpenForgotten(); !status.ok()) return status;
  }
  return recordings;
}

absl::Status Recordings::OpenFile(const JobKey& key, const std::string& path) {
  auto log = EventLog::Open(path);
  if (!log.ok()) return log.status();
  File file{*std::move(log), {}};
  file.summary.key = key;
  file.summary.lost = file.log->lost();
  const auto status = file.log->Read(0, [&](const v1::LoggedBatch& batch) {
    Count(batch, &file.summary);
    return true;
  });
  if (!status.ok()) return status;
  Know(*file.log);
  files_[key] = std::move(file);
  return absl::OkStatus();
}

void Recordings::Know(const EventLog& log) {
  for (const auto& [spool, sequence] : log.last_sequences()) {
    uint64_t& last = last_[spool];
    last = std::max(last, sequence);
  }
}

absl::Status Recordings::OpenForgotten() {
  auto log = EventLog::Open(Cat(folder_, "/", kForgottenName));
  if (!log.ok()) return log.status();
  forgotten_ = *std::move(log);
  Know(*forgotten_);
  return absl::OkStatus();
}

bool Recordings::HasRoomFor(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  return files_.size() < files_max_ || files_.contains(key);
}

absl::Status Recordings::Forget(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  const auto it = files_.find(key);
  if (it == files_.end()) return absl::NotFoundError(Cat("no recording of job ", key.job));
  if (forgotten_ == nullptr) {
    if (auto status = OpenForgotten(); !status.ok()) return status;
  }
  std::vector<v1::LoggedBatch> rows;
  for (const auto& [spool, sequence] : it->second.log->last_sequences()) {
    if (forgotten_->LastSequence(spool) >= sequence) continue;
    v1::LoggedBatch& row = rows.emplace_back();
    row.set_spool_id(spool);
    row.mutable_batch()->set_sequence(sequence);
  }
  if (!rows.empty()) {
    if (const auto position = forgotten_->Append(rows); !position.ok()) return position.status();
  }
  files_.erase(it);  // closed
  const std::string path = Cat(folder_, "/", FileName(key));
  std::error_code error;
  for (const char* ending : {"", "-wal", "-shm"}) {
    if (fs::remove(path + ending, error); error) return absl::UnavailableError(Cat(path, ending, ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Recordings::File*> Recordings::FileOf(const JobKey& key) {
  if (!files_.contains(key)) {
    if (auto status = OpenFile(key, Cat(folder_, "/", FileName(key))); !status.ok()) return status;
  }
  return &files_[key];
}

uint64_t Recordings::NextSequence(const std::string& spool_id) const {
  const std::lock_guard lock(mutex_);
  const auto it = last_.find(spool_id);
  return it == last_.end() ? 1 : it->second + 1;
}

absl::Status Recordings::Append(std::vector<v1::LoggedBatch> batches) {
  const std::lock_guard lock(mutex_);
  // In rounds. In one round a spool writes to one file: were a later batch durable in another file when the
  // power fails, the earlier one would never be asked for again.
  while (!batches.empty()) {
    std::map<std::string, JobKey> file_of_spool;
    std::map<JobKey, std::vector<v1::LoggedBatch>> round;
    std::map<std::string, uint64_t> last = last_;
    std::vector<v1::LoggedBatch> later;
    for (v1::LoggedBatch& batch : batches) {
      const JobKey key{batch.batch().job(), batch.batch().attempt()};
      const JobKey& file = file_of_spool.try_emplace(batch.spool_id(), key).first->second;
      if (file != key) {
        later.push_back(std::move(batch));
        // What follows of this spool waits as well.
        file_of_spool[later.back().spool_id()] = JobKey{};
        continue;
      }
      uint64_t& highest = last[batch.spool_id()];
      if (batch.batch().sequence() <= highest) continue;  // a duplicate
      highest = batch.batch().sequence();
      round[key].push_back(std::move(batch));
    }
    for (auto& [key, rows] : round) {
      const auto file = FileOf(key);
      if (!file.ok()) return file.status();
      if (const auto position = (*file)->log->Append(rows); !position.ok()) return position.status();
      for (const v1::LoggedBatch& row : rows) {
        Count(row, &(*file)->summary);
        last_[row.spool_id()] = row.batch().sequence();
      }
    }
    batches = std::move(later);
  }
  return absl::OkStatus();
}

std::vector<RecordingSummary> Recordings::Summaries() const {
  const std::lock_guard lock(mutex_);
  std::vector<RecordingSummary> out;
  for (const auto& [key, file] : files_) {
    out.push_back(file.summary);
    out.back().file_bytes = file.log->bytes();
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.last_ns > b.last_ns; });
  return out;
}

std::optional<RecordingSummary> Recordings::SummaryOf(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = files_.find(key);
  return it == files_.end() ? std::nullopt : std::optional(it->second.summary);
}

absl::StatusOr<std::vector<v1::LoggedBatch>> Recordings::Read(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = files_.find(key);
  if (it == files_.end()) return absl::NotFoundError(Cat("no recording of job ", key.job));
  std::vector<v1::LoggedBatch> out;
  const auto status = it->second.log->Read(0, [&](const v1::LoggedBatch& batch) {
    out.push_back(batch);
    return true;
  });
  if (!status.ok()) return status;
  return out;
}

}  // namespace firstfault
