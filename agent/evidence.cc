#include "agent/evidence.h"

#include <algorithm>
#include <cstring>

#include "correlate/line_hits.h"
#include "correlate/parse/elastic_report.h"
#include "correlate/parse/line.h"
#include "correlate/parse/progress.h"
#include "correlate/text.h"

namespace firstfault::agent {
namespace {

uint64_t LinesBehind(const Signature& signature) {
  return signature.row.id() == "elastic.childfailed" ? kReportLinesMax : kBehindLines;
}

}  // namespace

Evidence::Evidence(const Engine& engine, std::vector<PatternSet::Hit>& hits, uint32_t source, Ship ship,
                   EvidenceState state)
    : engine_(engine),
      hits_(hits),
      source_(source),
      ship_(ship),
      base_(state.offset),
      scanned_(state.offset),
      scanned_line_(state.line),
      cut_(state.in_cut_line),
      behind_(state.line <= kHeadLines ? kHeadLines + 1 - state.line : 0),
      shipped_(std::move(state.shipped)) {}

void Evidence::Feed(int64_t now_ns, std::string_view bytes, std::vector<v1::Record>* out) {
  while (!bytes.empty()) {
    if (cut_) {
      const size_t newline = bytes.find('\n');
      const size_t dropped = newline == std::string_view::npos ? bytes.size() : newline;
      base_ += dropped;
      scanned_ = base_;
      bytes.remove_prefix(dropped);
      cut_ = bytes.empty();
      continue;
    }
    const std::string_view piece = bytes.substr(0, kSpanBytesMax);
    const size_t newline = piece.rfind('\n');
    const uint64_t lines_end = newline == std::string_view::npos ? scanned_ : End() + newline + 1;
    window_.append(piece);
    bytes.remove_prefix(piece.size());
    if (ship_ == Ship::kAll && End() - lines_end >= kSpanBytesMax) {
      Work(now_ns, End(), out);
    } else {
      Work(now_ns, lines_end, out);
    }
    if (End() - scanned_ >= kLineBytesMax) {
      Work(now_ns, End(), out);
      base_ = scanned_;
      window_.clear();
      shipped_.clear();
      cut_ = true;
    }
    Trim();
  }
  if (ship_ == Ship::kMatches && now_ns >= next_progress_ns_ && scanned_ > base_) {
    ShipProgress(out);
    next_progress_ns_ = now_ns + kProgressEveryNs;
  }
}

void Evidence::Flush(int64_t now_ns, std::vector<v1::Record>* out) { Work(now_ns, End(), out); }

void Evidence::Tail(std::vector<v1::Record>* out) {
  ShipRange(LookBack(End(), kTailLines, kRingBytes), End(), v1::Span::TAIL, out);
}

EvidenceState Evidence::StateFrom(uint64_t floor) const {
  EvidenceState state;
  // Of what is shipped whole nothing need be read again.
  state.offset = std::max(floor, ship_ == Ship::kAll ? scanned_ : base_);
  state.offset = std::min(state.offset, End());
  state.line = LineNumberAt(state.offset);
  state.in_cut_line = cut_;
  for (const auto& [begin, end] : shipped_) {
    if (end > state.offset) state.shipped.emplace_back(std::max(begin, state.offset), end);
  }
  return state;
}

// Decides on [scanned_, end): whole lines, or the end of a file.
void Evidence::Work(int64_t now_ns, uint64_t end, std::vector<v1::Record>* out) {
  if (end <= scanned_) return;
  const uint64_t begin = scanned_;
  const std::string_view bytes = Bytes(begin, end);
  const uint64_t first_line = scanned_line_;
  if (ship_ == Ship::kAll) {
    ShipRange(begin, end, v1::Span::ALL, out);
  } else {
    uint64_t cursor = begin;
    for (const LineHit& hit : FindLineHits(*engine_.catalogue, *engine_.patterns, hits_, bytes)) {
      const uint64_t line_begin = begin + hit.begin, line_end = std::min(end, begin + hit.end + 1);
      const Line line = Read(hit.patterns);
      if (!line.event && !line.once) continue;
      ShipBehind(cursor, line_begin, out);
      cursor = line_begin;
      if (IsStorm(now_ns, line.signature, Bytes(line_begin, begin + hit.end), out)) continue;
      fatal_ |= line.fatal;
      if (line.event) {
        ShipRange(LookBack(line_begin, kBeforeLines, kBeforeBytes), line_end, v1::Span::MATCH, out);
        // The line itself is the first of them.
        behind_ = std::max(behind_, line.behind + 1);
        behind_reason_ = v1::Span::MATCH;
      } else {
        ShipRange(line_begin, line_end, v1::Span::MATCH, out);
      }
    }
    ShipBehind(cursor, end, out);
  }
  scanned_line_ = first_line + static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  scanned_ = end;
}

// The lines of [begin, end) that still belong to the head or to the last match.
void Evidence::ShipBehind(uint64_t begin, uint64_t end, std::vector<v1::Record>* out) {
  uint64_t at = begin;
  for (; behind_ > 0 && at < end; --behind_) {
    const std::string_view rest = Bytes(at, end);
    const size_t newline = rest.find('\n');
    at += newline == std::string_view::npos ? rest.size() : newline + 1;
  }
  ShipRange(begin, at, behind_reason_, out);
}

// The last line of each rank that says how far it is.
void Evidence::ShipProgress(std::vector<v1::Record>* out) {
  std::set<std::optional<int32_t>> ranks;
  std::vector<std::pair<uint64_t, uint64_t>> lines;
  const uint64_t begin = LookBack(scanned_, kBeforeLines, kBeforeBytes);
  for (uint64_t end = scanned_; end > begin && ranks.size() < kProgressRanksMax;) {
    const uint64_t line_begin = LookBack(end, 1, kRingBytes);
    if (line_begin == end) break;
    const SourceLine line(line_begin, Bytes(line_begin, end - 1), {});
    const ProgressFields fields = ParseProgress(line.message());
    const std::optional<int32_t> rank = line.peeled.prefix.rank ? line.peeled.prefix.rank : fields.rank;
    if (fields.step && ranks.insert(rank).second) lines.emplace_back(line_begin, end);
    end = line_begin;
  }
  std::reverse(lines.begin(), lines.end());
  for (const auto& [line_begin, line_end] : lines) ShipRange(line_begin, line_end, v1::Span::PROGRESS, out);
}

// What of [begin, end) was not shipped before.
void Evidence::ShipRange(uint64_t begin, uint64_t end, v1::Span::Reason reason, std::vector<v1::Record>* out) {
  if (begin >= end) return;
  uint64_t at = begin;
  auto it = shipped_.begin();
  while (it != shipped_.end() && it->second < begin) ++it;
  std::pair<uint64_t, uint64_t> merged(begin, end);
  while (it != shipped_.end() && it->first <= end) {
    Append(at, it->first, reason, out);
    at = std::max(at, it->second);
    merged = {std::min(merged.first, it->first), std::max(merged.second, it->second)};
    it = shipped_.erase(it);
  }
  Append(at, end, reason, out);
  shipped_.insert(it, merged);
}

void Evidence::Append(uint64_t begin, uint64_t end, v1::Span::Reason reason, std::vector<v1::Record>* out) {
  while (begin < end) {
    const uint64_t piece = std::min(end, begin + kSpanBytesMax);
    v1::Span* span = out->empty() || !out->back().has_span() ? nullptr : out->back().mutable_span();
    if (span == nullptr || span->source() != source_ || span->byte_offset() + span->raw().size() != begin ||
        span->raw().size() + (piece - begin) > kSpanBytesMax) {
      span = out->emplace_back().mutable_span();
      span->set_source(source_);
      span->set_byte_offset(begin);
      span->set_first_line(LineNumberAt(begin));
      span->set_reason(reason);
    }
    span->mutable_raw()->append(Bytes(begin, piece));
    begin = piece;
  }
}

// Begin of the line that stands at most so many lines and bytes before the line that begins at `offset`.
uint64_t Evidence::LookBack(uint64_t offset, uint64_t lines, uint64_t bytes) const {
  uint64_t at = offset;
  if (at > base_ && Bytes(at - 1, at) != "\n") {  // an unfinished line is one more
    const void* newline = memrchr(window_.data(), '\n', at - base_);
    at = newline == nullptr ? base_ : base_ + static_cast<uint64_t>(static_cast<const char*>(newline) - window_.data()) + 1;
  }
  for (uint64_t i = 0; i < lines && at > base_; ++i) {
    const void* newline = memrchr(window_.data(), '\n', at - 1 - base_);
    const uint64_t begin = newline == nullptr ? base_ : base_ + static_cast<uint64_t>(static_cast<const char*>(newline) - window_.data()) + 1;
    if (offset - begin > bytes) break;
    at = begin;
  }
  return at;
}

uint64_t Evidence::LineNumberAt(uint64_t offset) const {
  const std::string_view between = Bytes(std::min(offset, scanned_), std::max(offset, scanned_));
  const uint64_t newlines = static_cast<uint64_t>(std::count(between.begin(), between.end(), '\n'));
  return offset < scanned_ ? scanned_line_ - newlines : scanned_line_ + newlines;
}

Evidence::Line Evidence::Read(const std::vector<uint32_t>& patterns) {
  Line line;
  for (const uint32_t pattern : patterns) {
    const uint32_t index = engine_.catalogue->patterns()[pattern].signature;
    const Signature& signature = engine_.catalogue->signatures()[index];
    const bool harmless = signature.role == Role::kBenign && signature.row.cancels().empty();
    if (harmless && !harmless_.insert(index).second) continue;
    const bool event = !harmless && signature.role != Role::kContext;
    if (event || !line.event) line.signature = index;
    if (event) line.behind = std::max(line.behind, LinesBehind(signature));
    line.event |= event;
    line.once |= !event;
    line.fatal |= event && signature.severity == Severity::kFatal;
  }
  return line;
}

bool Evidence::IsStorm(int64_t now_ns, uint32_t signature, std::string_view text, std::vector<v1::Record>* out) {
  if (storms_since_ns_ == INT64_MIN || now_ns - storms_since_ns_ >= kStormEveryNs) {
    EndStorms(out);
    storms_since_ns_ = now_ns;
  }
  const SourceLine line(0, text.substr(0, kBeforeBytes), {});
  std::pair<uint32_t, int32_t> key(signature, line.peeled.prefix.rank.value_or(-1));
  if (storms_.size() >= kStormKindsMax && !storms_.contains(key)) key = {UINT32_MAX, -1};
  Storm& storm = storms_[key];
  if (++storm.seen <= kStormMax) return false;
  storm.bytes += text.size();
  return true;
}

void Evidence::EndStorms(std::vector<v1::Record>* out) {
  for (const auto& [key, storm] : storms_) {
    if (storm.seen <= kStormMax) continue;
    v1::Gap* gap = out->emplace_back().mutable_gap();
    gap->set_reason(key.first == UINT32_MAX ? "storm of many kinds"
                                            : Cat("storm of ", engine_.catalogue->signatures()[key.first].row.id()));
    gap->set_records(storm.seen - kStormMax);
    gap->set_bytes(storm.bytes);
  }
  storms_.clear();
}

void Evidence::Trim() {
  // Moving the window costs as much as it holds: only when as much is done with.
  if (scanned_ - base_ <= 2 * kRingBytes) return;
  // Nothing is looked back for where everything is shipped.
  const uint64_t keep = ship_ == Ship::kAll ? scanned_ : LookBack(scanned_, UINT64_MAX, kRingBytes);
  window_.erase(0, keep - base_);
  base_ = keep;
  std::erase_if(shipped_, [&](const auto& range) { return range.second <= base_; });
}

}  // namespace firstfault::agent
