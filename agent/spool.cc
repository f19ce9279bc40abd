#include "agent/spool.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "correlate/text.h"

namespace firstfault::agent {
namespace {

// The source that a record speaks of; 0: none.
uint32_t SourceOf(const v1::Record& record) {
  return record.has_source_opened() ? record.source_opened().source()
         : record.has_span()        ? record.span().source()
                                    : record.source_closed().source();
}

// What may go first where there is no room: it says how things were, not what happened.
bool IsRoutine(const v1::Record& record) {
  if (record.has_step_mark()) return true;
  return record.has_span() && record.span().reason() != v1::Span::MATCH;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(const std::string& folder, uint64_t bytes_max) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::NotFoundError(Cat(folder, ": ", error.message()));
  auto log = EventLog::Open(Cat(folder, "/spool.db"));
  if (!log.ok()) return log.status();
  std::unique_ptr<Spool> spool(new Spool(*std::move(log), bytes_max));
  const auto status = spool->log_->Read(1, [&](const v1::LoggedBatch& row) {
    if (row.has_state()) spool->state_ = row.state();
    return true;
  });
  if (!status.ok()) return status;
  return spool;
}

void Spool::Drop(const v1::Record& record) {
  dropped_.set_records(dropped_.records() + 1);
  dropped_.set_bytes(dropped_.bytes() + record.span().raw().size());
}

void Spool::Add(int64_t now_ns, v1::Record record) {
  if (record.has_source_opened()) opened_[SourceOf(record)] = record;
  const bool routine = IsRoutine(record);
  const uint64_t stored = log_->bytes();
  if (stored >= bytes_max_ || (routine && stored >= bytes_max_ / 4 * 3) || gathered_bytes_ >= kGatheredBytesMax ||
      (routine && gathered_bytes_ >= kGatheredBytesMax / 4 * 3)) {
    Drop(record);
    return;
  }
  if (gathered_.empty()) gathered_since_ns_ = now_ns;
  gathered_bytes_ += record.ByteSizeLong();
  gathered_.push_back(std::move(record));
}

bool Spool::Due(int64_t now_ns) const {
  return !gathered_.empty() && (gathered_.size() >= kBatchRecordsMax || gathered_bytes_ >= kBatchBytes ||
                                now_ns - gathered_since_ns_ >= kBatchNs);
}

absl::Status Spool::Commit(v1::SpoolState state) {
  if (gathered_.empty()) return absl::OkStatus();
  state.set_dropped_records(state_.dropped_records() + dropped_.records());
  state.set_dropped_bytes(state_.dropped_bytes() + dropped_.bytes());
  std::vector<v1::LoggedBatch> rows;
  size_t bytes = 0;
  std::set<uint32_t> named;  // by the present row
  const auto add = [&](const v1::Record& record) {
    const size_t size = record.ByteSizeLong();
    if (rows.empty() || rows.back().batch().record_size() >= kBatchRecordsMax || bytes + size > kBatchBytes) {
      v1::LoggedBatch& row = rows.emplace_back();
      row.set_spool_id(log_->id());
      row.mutable_batch()->set_sequence(log_->next_position() + rows.size() - 1);
      row.mutable_batch()->set_job(state.job());
      row.mutable_batch()->set_attempt(state.attempt());
      bytes = 0;
      named.clear();
    }
    bytes += size;
    const uint32_t source = SourceOf(record);
    if (source != 0 && named.insert(source).second && !record.has_source_opened()) {
      if (const auto opened = opened_.find(source); opened != opened_.end()) *rows.back().mutable_batch()->add_record() = opened->second;
    }
    *rows.back().mutable_batch()->add_record() = record;
  };
  if (dropped_.records() > 0) {
    v1::Record gap;
    *gap.mutable_gap() = dropped_;
    gap.mutable_gap()->set_reason("the spool was full");
    add(gap);
  }
  for (const v1::Record& record : gathered_) add(record);
  *rows.back().mutable_state() = state;
  if (const auto appended = log_->Append(rows); !appended.ok()) return appended.status();
  state_ = std::move(state);
  gathered_.clear();
  gathered_bytes_ = 0;
  dropped_.Clear();
  return absl::OkStatus();
}

absl::Status Spool::Read(uint64_t from, const std::function<bool(const v1::Batch&)>& visit) const {
  return log_->Read(from, [&](const v1::LoggedBatch& row) {
    if (row.has_batch()) return visit(row.batch());
    // A row that damage has emptied keeps its number, so that the others keep theirs.
    v1::Batch lost;
    lost.set_sequence(row.position());
    lost.set_job(state_.job());
    lost.set_attempt(state_.attempt());
    v1::Gap* gap = lost.add_record()->mutable_gap();
    gap->set_reason("the spool was damaged");
    gap->set_records(1);
    return visit(lost);
  });
}

void Spool::Acknowledge(uint64_t sequence) {
  acknowledged_ = std::max(acknowledged_, std::min(sequence, log_->next_position() - 1));
  const uint64_t trim = std::min(acknowledged_, log_->next_position() - 2);  // the last row holds the state
  if (acknowledged_ == 0 || trim < trimmed_ + kTrimBatches) return;
  if (log_->Trim(trim).ok()) trimmed_ = trim;  // else with a later one
}

}  // namespace firstfault::agent
