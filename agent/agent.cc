#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "correlate/check.h"
#include "correlate/text.h"

namespace firstfault::agent {
namespace {

void ToProto(const FileId& file, v1::SpooledFile* out) {
  out->set_device(file.device);
  out->set_inode(file.inode);
  out->set_head_bytes(file.head_bytes);
  out->set_head_hash(file.head_hash);
}

FileId FromProto(const v1::SpooledFile& file) {
  return {file.device(), file.inode(), file.head_bytes(), file.head_hash()};
}

std::vector<std::string> Under(const std::string& root, const std::vector<std::string>& globs) {
  std::vector<std::string> out;
  for (const std::string& glob : globs) {
    out.push_back(root.empty() ? glob : Cat(root, glob.starts_with('/') ? "" : "/", glob));
  }
  return out;
}

}  // namespace

Agent::Agent(const Engine& engine, AgentOptions options, Spool& spool)
    : engine_(engine),
      options_(std::move(options)),
      spool_(spool),
      tail_(Under(options_.root, options_.globs), std::max(1U, spool.state().next_source())) {}

void Agent::Resume() {
  const v1::SpoolState& state = spool_.state();
  if (state.job() != options_.job || state.attempt() != options_.attempt) {
    Add([] {
      v1::Record record;
      record.mutable_job_opened();
      return record;
    }());
    return;
  }
  for (const v1::SpooledSource& source : state.source()) {
    SourcePosition position{source.source(), source.path(), source.shared(), FromProto(source.file()), source.file_begin(), {}};
    for (const v1::SpooledFile& file : source.earlier()) position.earlier.push_back(FromProto(file));
    Announce(source.source(), source.path(), source.shared());
    EvidenceState evidence{source.end(), source.end_line(), false, {}};
    if (tail_.Resume(position, source.offset(), source.end())) {
      if (source.file().inode() != 0) {
        evidence = {source.offset(), source.line(), source.in_cut_line(), {}};
        for (int i = 0; i + 1 < source.shipped_size(); i += 2) {
          evidence.shipped.emplace_back(source.shipped(i), source.shipped(i + 1));
        }
      }
    } else {
      v1::Record gap;
      gap.mutable_gap()->set_reason("a log was replaced while no agent read it");
      Add(std::move(gap));
    }
    sources_.try_emplace(source.source(), engine_, hits_, source.source(), options_.ship, std::move(evidence));
  }
}

bool Agent::Poll(Moment now) {
  now_ = now;
  if (!std::exchange(announced_, true)) Resume();
  const bool can_wait = options_.patient || options_.ship == Ship::kAll;
  const bool more = can_wait && spool_.crowded() ? true : tail_.Poll(now.monotonic_ns, *this);
  // Where everything is shipped, a line that stays unfinished, such as a progress bar, goes with the tails.
  if ((std::exchange(fatal_, false) || options_.ship == Ship::kAll) && now.monotonic_ns >= next_tails_ns_) Tails(now);
  if (spool_.Due(now.monotonic_ns)) Commit();
  return more;
}

void Agent::Tails(Moment now) {
  now_ = now;
  next_tails_ns_ = now.monotonic_ns + kTailsEveryNs;
  for (auto& [source, evidence] : sources_) {
    evidence.Tail(&records_);
    AddAll();
  }
}

void Agent::Close(Moment now, std::string_view reason) {
  now_ = now;
  for (auto& [source, evidence] : sources_) {
    evidence.Flush(now.monotonic_ns, &records_);
    evidence.Tail(&records_);
    evidence.EndStorms(&records_);
    v1::SourceClosed* closed = records_.emplace_back().mutable_source_closed();
    closed->set_source(source);
    closed->set_bytes(evidence.end());
    closed->set_lines(evidence.end_line() - 1);
    closed->set_reason(std::string(reason));
    AddAll();
  }
  Commit();
}

void Agent::Opened(uint32_t source, const std::string& path, bool shared) {
  Announce(source, path, shared);
  sources_.try_emplace(source, engine_, hits_, source, options_.ship);
}

void Agent::Announce(uint32_t source, const std::string& path, bool shared) {
  v1::Record record;
  v1::SourceOpened* opened = record.mutable_source_opened();
  opened->set_source(source);
  opened->set_path(path.substr(options_.root.size()));
  opened->set_complete(options_.ship == Ship::kAll);
  opened->set_shared(shared);
  Add(std::move(record));
}

void Agent::Bytes(uint32_t source, uint64_t offset, std::string_view bytes) {
  Evidence& evidence = sources_.at(source);
  FF_CHECK(evidence.end() == offset);
  evidence.Feed(now_.monotonic_ns, bytes, &records_);
  fatal_ |= evidence.TakeFatal();
  AddAll();
  if (spool_.Due(now_.monotonic_ns)) Commit();  // what a long read makes must not pile up in memory
}

void Agent::FileEnded(uint32_t source) {
  sources_.at(source).Flush(now_.monotonic_ns, &records_);
  AddAll();
}

void Agent::Add(v1::Record record) {
  record.set_wall_ns(now_.wall_ns);
  record.set_monotonic_ns(now_.monotonic_ns);
  spool_.Add(now_.monotonic_ns, std::move(record));
}

void Agent::AddAll() {
  for (v1::Record& record : records_) Add(std::move(record));
  records_.clear();
}

void Agent::Commit() {
  // On failure, a full disk say, the spool keeps what it can for the next time.
  if (!spool_.Commit(State()).ok()) ++failed_commits_;
}

v1::SpoolState Agent::State() const {
  v1::SpoolState state;
  state.set_job(options_.job);
  state.set_attempt(options_.attempt);
  state.set_next_source(tail_.next_source());
  for (const auto& [number, evidence] : sources_) {
    const SourcePosition& position = *tail_.PositionOf(number);
    v1::SpooledSource* source = state.add_source();
    source->set_source(number);
    source->set_path(position.path);
    source->set_shared(position.shared);
    ToProto(position.file, source->mutable_file());
    source->set_file_begin(position.file_begin);
    for (const FileId& file : position.earlier) ToProto(file, source->add_earlier());
    const EvidenceState at = evidence.StateFrom(position.file_begin);
    source->set_offset(at.offset);
    source->set_line(at.line);
    source->set_in_cut_line(at.in_cut_line);
    for (const auto& [begin, end] : at.shipped) {
      source->add_shipped(begin);
      source->add_shipped(end);
    }
    source->set_end(evidence.end());
    source->set_end_line(evidence.end_line());
  }
  return state;
}

}  // namespace firstfault::agent
