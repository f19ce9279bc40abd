#include "coordinator/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "coordinator/content_kind.h"
#include "coordinator/decode.h"
#include "coordinator/host_names.h"
#include "coordinator/recording.h"
#include "coordinator/source_names.h"
#include "correlate/correlate.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

struct Source {
  std::vector<const v1::Span*> spans;
  std::optional<int64_t> last_ns;  // when its host last read of it
  uint64_t bytes = 0, lines = 0;   // read in all, where its end is known
  bool open = true;
};

using SourceKey = std::pair<std::string, std::string>;  // host (empty: a shared file), path

struct Sums {
  uint64_t records = 0, bytes = 0;
};

// The records of a job, put together by what they are about.
class Collector {
 public:
  explicit Collector(const std::vector<v1::LoggedBatch>& batches) {
    std::vector<const v1::LoggedBatch*> ordered;
    for (const v1::LoggedBatch& batch : batches) ordered.push_back(&batch);
    std::sort(ordered.begin(), ordered.end(), [](const v1::LoggedBatch* a, const v1::LoggedBatch* b) {
      return std::make_tuple(std::string_view(a->spool_id()), a->batch().sequence()) <
             std::make_tuple(std::string_view(b->spool_id()), b->batch().sequence());
    });
    for (const v1::LoggedBatch* batch : ordered) {
      hosts_.insert(batch->host());
      for (const v1::Record& record : batch->batch().record()) {
        if (IsPossible(record)) {
          Take(*batch, record);
        } else {
          ++impossible_;
        }
      }
    }
  }

  std::map<SourceKey, Source>& sources() { return sources_; }
  const std::optional<v1::JobClosed>& closed() const { return closed_; }

  std::set<std::string> MissingHosts() const {
    std::set<std::string> out;
    std::set_difference(expected_.begin(), expected_.end(), hosts_.begin(), hosts_.end(), std::inserter(out, out.end()));
    return out;
  }

  std::vector<std::string> Problems() const {
    std::vector<std::string> out;
    for (const auto& [key, sums] : gaps_) {
      out.push_back(Cat(key.first, " left out ", sums.records, " records with ", sums.bytes, " bytes: ", key.second, "."));
    }
    for (const std::string& host : MissingHosts()) out.push_back(Cat(host, " belongs to the job and has sent nothing."));
    if (unnamed_ > 0) out.push_back(Cat(unnamed_, " pieces of sources arrived whose names were lost."));
    if (impossible_ > 0) out.push_back(Cat(impossible_, " records are about places that no log has, and were left out."));
    return out;
  }

 private:
  void Take(const v1::LoggedBatch& batch, const v1::Record& record) {
    using Body = v1::Record::BodyCase;
    const auto number = [&](uint32_t source) { return std::make_pair(batch.spool_id(), source); };
    switch (record.body_case()) {
      case Body::kSourceOpened: {
        // Of a shared file all agents see the same bytes, and none knows whose they are.
        const SourceKey key{record.source_opened().shared() ? "" : batch.host(), record.source_opened().path()};
        names_[number(record.source_opened().source())] = key;
        sources_[key].open = true;
        break;
      }
      case Body::kSpan:
        if (Source* source = Find(number(record.span().source()))) {
          source->spans.push_back(&record.span());
          if (record.has_wall_ns()) source->last_ns = std::max(source->last_ns.value_or(INT64_MIN), record.wall_ns());
        }
        break;
      case Body::kSourceClosed:
        if (Source* source = Find(number(record.source_closed().source()))) {
          source->open = false;
          source->bytes = std::max(source->bytes, record.source_closed().bytes());
          source->lines = std::max(source->lines, record.source_closed().lines());
        }
        break;
      case Body::kGap: {
        Sums& sums = gaps_[{batch.host(), record.gap().reason()}];
        sums.records += record.gap().records();
        sums.bytes += record.gap().bytes();
        break;
      }
      case Body::kJobOpened:
        expected_.insert(record.job_opened().hosts().begin(), record.job_opened().hosts().end());
        break;
      case Body::kJobClosed:
        closed_ = record.job_closed();
        break;
      default:  // registrations, exits and settings are kept for a later engine
        break;
    }
  }

  Source* Find(const std::pair<std::string, uint32_t>& number) {
    const auto it = names_.find(number);
    if (it != names_.end()) return &sources_[it->second];
    ++unnamed_;
    return nullptr;
  }

  std::map<std::pair<std::string, uint32_t>, SourceKey> names_;  // by spool and number
  std::map<SourceKey, Source> sources_;
  std::map<SourceKey, Sums> gaps_;  // by host and reason
  std::set<std::string> hosts_, expected_;
  std::optional<v1::JobClosed> closed_;
  uint64_t unnamed_ = 0, impossible_ = 0;
};

// What of a source is known, in order: each piece once, and the holes before them.
struct Piece {
  uint64_t hole_bytes = 0, hole_lines = 0;
  std::string_view bytes;
};

std::vector<Piece> PiecesOf(Source* source) {
  std::sort(source->spans.begin(), source->spans.end(), [](const v1::Span* a, const v1::Span* b) {
    return std::make_tuple(a->byte_offset(), b->raw().size(), std::string_view(a->raw())) <
           std::make_tuple(b->byte_offset(), a->raw().size(), std::string_view(b->raw()));
  });
  std::vector<Piece> out;
  uint64_t at = 0, line = 1;
  for (const v1::Span* span : source->spans) {
    std::string_view raw = span->raw();
    Piece piece;
    if (span->byte_offset() < at) {  // sent again
      raw.remove_prefix(std::min<uint64_t>(at - span->byte_offset(), raw.size()));
    } else {
      piece.hole_bytes = span->byte_offset() - at;
      if (piece.hole_bytes > 0 && span->first_line() > line) piece.hole_lines = span->first_line() - line;
    }
    if (raw.empty()) continue;
    piece.bytes = raw;
    at += piece.hole_bytes + raw.size();
    line += piece.hole_lines + static_cast<uint64_t>(std::count(raw.begin(), raw.end(), '\n'));
    out.push_back(piece);
  }
  if (source->bytes > at) out.push_back({source->bytes - at, source->lines >= line ? source->lines - line + 1 : 0, {}});
  return out;
}

SourceInfo InfoOf(const SourceKey& key, const Source& source, std::string_view head) {
  std::string_view path = key.second;
  while (path.starts_with('/')) path.remove_prefix(1);
  SourceInfo info = NameSource(key.first.empty() ? std::string(path) : Cat(key.first, "/", path), head);
  info.modified_ns = source.last_ns;
  return info;
}

// Whether the host that a file lies on is the host that it is about. A launcher's output, or what was fetched with
// a scheduler's command, tells of others.
bool IsItsHostsOwn(const SourceInfo& info) {
  return info.kind == SourceInfo::Kind::kKernelLog || info.rank || info.local_rank;
}

SourceDigest Scan(const Engine& engine, ScanBuffers& buffers, SourceInfo info, Decoder* decoder,
                  const std::vector<Piece>& pieces) {
  SourceScanner scanner(engine, buffers, std::move(info));
  std::string text;
  const auto give = [&] {
    scanner.Feed(text);
    text.clear();
  };
  for (const Piece& piece : pieces) {
    if (piece.hole_bytes > 0) {
      if (decoder != nullptr) {
        decoder->Flush(&text);
        give();
      }
      scanner.Skip(piece.hole_bytes, piece.hole_lines);
    }
    if (decoder == nullptr) {
      scanner.Feed(piece.bytes);
    } else {
      decoder->Feed(piece.bytes, &text);
      give();
    }
  }
  if (decoder != nullptr) {
    decoder->Flush(&text);
    give();
  }
  return scanner.Finish();
}

std::string HeadOf(const std::vector<Piece>& pieces) {
  std::string head;
  for (const Piece& piece : pieces) {
    if (piece.hole_bytes > 0 || head.size() >= kHeadBytes) break;
    head += piece.bytes.substr(0, kHeadBytes - head.size());
  }
  return head;
}

// Ranks tell their steps; the last one of each is what it had reached.
std::optional<v1::Place> RankBehind(const std::vector<SourceDigest>& digests) {
  struct Last {
    int64_t step = -1;
    std::string host;
  };
  std::map<int32_t, Last> last;
  for (const SourceDigest& digest : digests) {
    const auto named = digest.info.rank ? ParseNumber<int32_t>(digest.info.rank->value) : std::nullopt;
    for (const Progress& progress : digest.progress) {
      const auto rank = progress.rank ? progress.rank : named;
      if (progress.bar || !rank) continue;
      Last& reached = last[*rank];
      reached.step = std::max(reached.step, progress.step);
      if (digest.info.host) reached.host = digest.info.host->value;
    }
  }
  if (last.size() < 2) return std::nullopt;
  const auto by_step = [](const auto& a, const auto& b) { return a.second.step < b.second.step; };
  const auto lowest = std::min_element(last.begin(), last.end(), by_step);
  const auto alike = std::count_if(last.begin(), last.end(), [&](const auto& one) { return one.second.step == lowest->second.step; });
  if (alike > 1) return std::nullopt;
  v1::Place place;
  place.set_rank(lowest->first);
  if (!lowest->second.host.empty()) place.set_host(lowest->second.host);
  return place;
}

}  // namespace

Replay ReplayBatches(const Engine& engine, const std::vector<v1::LoggedBatch>& batches, uint64_t lost) {
  Collector collector(batches);
  CorrelateOptions options;
  options.input_problems = collector.Problems();
  if (lost > 0) options.input_problems.push_back(Cat(lost, " batches of the recording are damaged."));

  Replay out;
  out.job_closed = collector.closed().has_value();
  out.all_closed = !collector.sources().empty() && collector.MissingHosts().empty();
  ScanBuffers buffers;
  std::vector<SourceDigest> digests;
  std::vector<std::string> hosts;  // that its agent tells; empty: it cannot
  int64_t binary = 0;
  for (auto& [key, source] : collector.sources()) {
    out.all_closed &= !source.open;
    const std::vector<Piece> pieces = PiecesOf(&source);
    std::string head = HeadOf(pieces);
    if (ContentKindOf(head) != ContentKind::kText) {
      ++binary;
      continue;
    }
    const std::unique_ptr<Decoder> decoder = DecoderFor(head);
    if (decoder != nullptr) {
      std::string text;
      DecoderFor(head)->Feed(head, &text);
      head = std::move(text);
    }
    SourceInfo info = InfoOf(key, source, head);
    if (info.kind == SourceInfo::Kind::kFlightRecorder) {
      ++binary;
      continue;
    }
    hosts.push_back(IsItsHostsOwn(info) ? key.first : "");
    digests.push_back(Scan(engine, buffers, std::move(info), decoder.get(), pieces));
  }
  if (binary > 0) options.input_problems.push_back(Cat(binary, " sources are not text and were not read."));

  std::vector<SourceInfo*> infos;
  for (SourceDigest& digest : digests) infos.push_back(&digest.info);
  NameHostsBySiblings(infos);
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i]->host && !hosts[i].empty()) infos[i]->host = Known{hosts[i], "agent"};
  }
  out.behind = RankBehind(digests);
  options.running = !out.job_closed && !out.all_closed;
  out.report = Correlate(engine, digests, options);
  if (options.running && out.behind && out.report.verdict() == "no_failure") {
    options.running = false;
    out.settled = Correlate(engine, digests, options);
  }
  const bool failed = out.report.verdict() != "no_failure" || (collector.closed() && collector.closed()->exit_code() != 0);
  out.report.mutable_state()->set_state(failed ? "failed" : out.job_closed || out.all_closed ? "ended" : "running");
  return out;
}

}  // namespace firstfault
