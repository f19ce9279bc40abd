#include "correlate/source_scanner.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "correlate/check.h"
#include "correlate/line_hits.h"
#include "correlate/parse/elastic_report.h"
#include "correlate/parse/line.h"
#include "correlate/parse/progress.h"
#include "correlate/parse/traceback.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// One pass of the search takes this much; larger chunks leave the second-level cache.
constexpr size_t kChunkBytes = 128 << 10;
// Bytes kept before the line that is being worked on: context and prefixes of 100 lines.
constexpr size_t kBackBytes = 96 << 10;
// Bytes that must stand behind a hit before it is worked on, so that its block is whole.
constexpr size_t kAheadBytes = 96 << 10;
// Lines parsed without a hit: the head gives habits and identity, the others where ranks stood.
constexpr size_t kHeadLines = 64, kBeforeFaultLines = 48, kTailLines = 96;
constexpr size_t kHabitLines = 64;
// Context kept with the first fault of a source.
constexpr size_t kContextLines = 100, kContextBytes = 16 << 10;
// The same where the source shows effects only: thousands of ranks do, and few of them are ever shown.
constexpr size_t kEffectContextBytes = 1536;
// Raw text kept of a progress or memory line.
constexpr size_t kSampleTextBytes = 400;
// Copies of one (writer, signature) kept in full; later ones are counted.
constexpr int64_t kCopiesMax = 16;
constexpr size_t kBlockLinesMax = 64, kContinuationLinesMax = 6;
constexpr size_t kEventsMax = 20000;
// Room that only causes may use: effects of thousands of ranks must not crowd out the line that explains them.
constexpr size_t kCausesMore = 4000;
constexpr size_t kFactsMax = 4000, kWritersMax = 8192;
// Progress and memory samples kept of one rank in one source: the first ones and the last ones.
constexpr size_t kSamplesFirst = 4, kSamplesLast = 12;
// Sampled lines of a source on which the rows are tried that the search leaves out.
constexpr size_t kLazyLines = 24;
// Bars that are redrawn for hours are one line of megabytes. Of a line longer than this (all of it is shown below it)
// each drawing is a line.
constexpr size_t kRedrawnBytesMax = kTextBytesMax;
// How far back a line without a stamp looks for the last stamp before it.
constexpr size_t kStampBackLines = 40;
// Peeled lines kept for who asks for them next.
constexpr size_t kPeeledMax = 4 * kStampBackLines;

struct Match {
  uint32_t signature;
  Fields fields;
};

// An event and the line that it stands on.
struct Quoted {
  Event event;
  const SourceLine* line = nullptr;
};

std::string Bounded(std::string_view text) { return std::string(text.substr(0, kTextBytesMax)); }

// "step 41 took 9.3 s" -> "step # took #.# s"; bounded.
std::string ShapeOf(std::string_view message) {
  std::string out;
  for (const char c : message.substr(0, kSampleTextBytes)) {
    if (!IsDigit(c)) {
      out.push_back(c);
    } else if (out.empty() || out.back() != '#') {
      out.push_back('#');
    }
  }
  return out;
}

// A drawing of a progress bar, or what wipes one out.
bool IsRedrawn(std::string_view drawing) {
  constexpr std::string_view kMarks[] = {"%", "it/s", "s/it", "ETA"};
  return Trim(drawing).empty() ||
         std::any_of(std::begin(kMarks), std::end(kMarks), [&](std::string_view mark) { return drawing.find(mark) != std::string_view::npos; });
}

// Keeps the first and the last samples of each rank.
template <typename T>
void Thin(std::vector<T>* items) {
  std::map<std::optional<int32_t>, size_t> total, seen;
  for (const T& item : *items) ++total[item.rank];
  std::vector<T> kept;
  for (T& item : *items) {
    const size_t index = seen[item.rank]++;
    if (index < kSamplesFirst || index + kSamplesLast >= total[item.rank]) kept.push_back(std::move(item));
  }
  *items = std::move(kept);
}

// Of device memory, only the last figure of each rank is compared with its twins'.
void KeepLastOfDevices(std::vector<Sample>* samples) {
  std::set<std::optional<int32_t>> later;
  std::vector<Sample> kept;
  for (auto it = samples->rbegin(); it != samples->rend(); ++it) {
    if (!it->device || later.insert(it->rank).second) kept.push_back(std::move(*it));
  }
  std::reverse(kept.begin(), kept.end());
  *samples = std::move(kept);
}

}  // namespace

class SourceScanner::Impl {
 public:
  Impl(const Engine& engine, ScanBuffers& buffers, SourceInfo info)
      : catalogue_(*engine.catalogue), patterns_(*engine.patterns), buffers_(buffers), window_(buffers.window) {
    digest_.info = std::move(info);
    window_.clear();
    traceback_ = catalogue_.IndexOf("py.traceback").value_or(UINT32_MAX);
    lazy_patterns_ = patterns_.lazy();
  }

  void Feed(std::string_view bytes) {
    digest_.bytes += static_cast<int64_t>(bytes.size());
    while (!bytes.empty()) {
      if (skipping_line_) {
        const size_t newline = bytes.find('\n');
        const size_t dropped = newline == std::string_view::npos ? bytes.size() : newline;
        base_ += dropped;
        scanned_ = base_;
        bytes.remove_prefix(dropped);
        if (bytes.empty()) return;
        skipping_line_ = false;
        base_ += 1;  // the newline itself ends the cut line
        scanned_ = base_;
        bytes.remove_prefix(1);
        continue;
      }
      const std::string_view piece = bytes.substr(0, kChunkBytes);
      window_.append(piece);
      bytes.remove_prefix(piece.size());
      NoteNewline(piece);
      BreakOverwritten();
      BreakLong();
      ScanWholeLines();
      if (End() - scanned_ >= kLineBytesMax) {
        ++digest_.lines_cut;
        Flush();
        skipping_line_ = true;
      }
      Work(scanned_ > kAheadBytes ? scanned_ - kAheadBytes : 0);
      Trim();
    }
  }

  void Skip(uint64_t bytes, uint64_t lines) {
    // The hole's first line end ends the line that it cuts.
    const bool cuts_line = lines > 0 && (skipping_line_ || (!window_.empty() && window_.back() != '\n'));
    Flush();
    cursor_line_ += static_cast<int64_t>(lines) - (cuts_line ? 1 : 0);
    base_ += bytes;
    cursor_offset_ = base_;
    scanned_ = base_;
    skipping_line_ = false;
    digest_.bytes += static_cast<int64_t>(bytes);
  }

  SourceDigest Finish() {
    if (!skipping_line_) ScanTo(End());
    Work(UINT64_MAX);
    EnsureHead();
    SampleTail();
    // Everything is numbered by the cursor: move it over the rest.
    digest_.lines = LineNumberAt(End()) - 1;
    if (EndsInALine()) ++digest_.lines;
    Thin(&digest_.progress);
    Thin(&digest_.memory);
    Thin(&digest_.remarks);
    KeepLastOfDevices(&digest_.memory);
    digest_.writers.reserve(writers_.size());
    for (auto& [key, writer] : writers_) digest_.writers.push_back(std::move(writer));
    ShrinkToFit();
    return std::move(digest_);
  }

 private:
  // Thousands of digests are kept until the last source is read.
  void ShrinkToFit() {
    for (std::vector<Event>* events : {&digest_.events, &digest_.facts}) {
      for (Event& event : *events) {
        event.fields.shrink_to_fit();
        event.block.shrink_to_fit();
      }
      events->shrink_to_fit();
    }
    for (Writer& writer : digest_.writers) writer.last_text.shrink_to_fit();
    digest_.progress.shrink_to_fit();
    digest_.memory.shrink_to_fit();
  }

  uint64_t End() const { return base_ + window_.size(); }
  std::string_view Bytes(uint64_t begin, uint64_t end) const {
    FF_CHECK(begin >= base_ && end <= End() && begin <= end);
    return std::string_view(window_).substr(begin - base_, end - begin);
  }

  // Number of the line that begins at `offset`. Offsets must not decrease much: the cursor walks forward,
  // and back only inside the window.
  int64_t LineNumberAt(uint64_t offset) {
    if (offset >= cursor_offset_) {
      const std::string_view between = Bytes(std::max(cursor_offset_, base_), offset);
      cursor_line_ += LineEndsIn(between);
      cursor_offset_ = offset;
      return cursor_line_;
    }
    return cursor_line_ - LineEndsIn(Bytes(offset, cursor_offset_));
  }

  // Of a part of the window. Returns that were made line ends count only where nothing else ends a line.
  int64_t LineEndsIn(std::string_view part) const {
    const int64_t all = std::count(part.begin(), part.end(), '\n');
    if (breaks_.empty() || !newline_seen_) return all;
    const uint64_t begin = base_ + static_cast<size_t>(part.data() - window_.data());
    const auto first = std::lower_bound(breaks_.begin(), breaks_.end(), begin);
    return all - (std::lower_bound(first, breaks_.end(), begin + part.size()) - first);
  }

  // The window's last line has no end, or one that does not count.
  bool EndsInALine() const {
    return !window_.empty() && LineEndsIn(std::string_view(window_).substr(window_.size() - 1)) == 0;
  }

  // A bar that is redrawn overwrites itself, and only its last drawing is read. What else stands before a carriage
  // return is a line, under the number of the whole: a message without an end, or a file with the line ends of old Macs.
  void BreakOverwritten() {
    for (size_t at = window_.find('\r', std::max(examined_, scanned_) - base_); at < window_.size(); at = window_.find('\r', at + 1)) {
      examined_ = base_ + at;
      if (at + 1 == window_.size()) return;  // may be half of "\r\n"
      if (window_[at + 1] == '\n') continue;
      const size_t before = at == 0 ? std::string::npos : window_.find_last_of("\r\n", at - 1);
      const size_t begin = before == std::string::npos ? 0 : before + 1;
      if (!IsRedrawn(std::string_view(window_).substr(begin, at - begin))) Break(at);
    }
    examined_ = End();
  }

  // Makes lines of the drawings of each long line. What is broken depends on the lines alone, not on how much of them
  // is there already.
  void BreakLong() {
    size_t line = scanned_ - base_;
    while (line < window_.size()) {
      if (!in_long_line_) {
        if (window_.size() - line <= kRedrawnBytesMax) return;
        const void* last = memrchr(window_.data() + line, '\n', kRedrawnBytesMax + 1);
        if (last != nullptr) {
          line = static_cast<size_t>(static_cast<const char*>(last) - window_.data()) + 1;
          continue;
        }
      }
      const size_t end = std::min(window_.find('\n', line), window_.size());
      // Not the last byte: it may be half of "\r\n".
      for (size_t at = window_.find('\r', line); at < end - 1; at = window_.find('\r', at + 1)) Break(at);
      in_long_line_ = end == window_.size();
      line = end + 1;
    }
  }

  void Break(size_t at) {
    window_[at] = '\n';
    const uint64_t offset = base_ + at;
    breaks_.insert(std::lower_bound(breaks_.begin(), breaks_.end(), offset), offset);
  }

  // Up to the first line end, whatever was found stands on the first line.
  void NoteNewline(std::string_view piece) {
    if (newline_seen_ || piece.find('\n') == std::string_view::npos) return;
    newline_seen_ = true;
    if (breaks_.empty() && cursor_line_ == 1) return;
    cursor_line_ = 1;
    for (auto* events : {&digest_.events, &digest_.facts}) {
      for (Event& event : *events) event.at.line = event.last_at.line = 1;
    }
    for (auto& [key, writer] : writers_) writer.last_at.line = 1;
    for (Progress& progress : digest_.progress) progress.at.line = 1;
    for (auto& sample : digest_.memory) sample.at.line = 1;
    for (Remark& remark : digest_.remarks) remark.at.line = 1;
  }

  Position PositionOf(uint64_t offset) {
    return {static_cast<uint32_t>(LineNumberAt(offset)), offset};
  }

  void ScanWholeLines() {
    const std::string_view unscanned = Bytes(scanned_, End());
    const void* newline = memrchr(unscanned.data(), '\n', unscanned.size());
    if (newline == nullptr) return;
    ScanTo(scanned_ + static_cast<size_t>(static_cast<const char*>(newline) - unscanned.data()) + 1);
  }

  // Scans whole lines up to `end` and remembers the lines with hits.
  void ScanTo(uint64_t end) {
    if (end <= scanned_) return;
    for (LineHit& line : FindLineHits(catalogue_, patterns_, buffers_.hits, Bytes(scanned_, end))) {
      line.begin += scanned_;
      line.end += scanned_;
      pending_.push_back(std::move(line));
    }
    scanned_ = end;
  }

  // Works on the remembered lines that begin before `limit`.
  void Work(uint64_t limit) {
    peeled_.clear();  // the window may have moved
    size_t done = 0;
    while (done < pending_.size() && pending_[done].begin < limit) {
      EnsureHead();
      // A copy: the block's reading may not see the list move.
      const LineHit line = pending_[done];
      if (!consumed_.contains(line.begin)) WorkOn(line);
      ++done;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  }

  void WorkOn(const LineHit& hit) {
    // Another writer's line glued behind this one, or behind a progress bar, is a line of its own.
    const std::string_view raw = Bytes(hit.begin, hit.end);
    const bool dirty = NeedsCleaning(raw);
    const std::string cleaned = dirty ? CleanLine(raw) : std::string();
    const std::string_view whole = dirty ? cleaned : raw;
    std::vector<size_t> cuts = GluedStarts(whole);
    cuts.insert(cuts.begin(), 0);
    for (size_t i = 0; i < cuts.size(); ++i) {
      const size_t end = i + 1 < cuts.size() ? cuts[i + 1] : whole.size();
      auto line = dirty || cuts.size() > 1 ? std::make_shared<const SourceLine>(hit.begin, whole.substr(cuts[i], end - cuts[i]), habits_)
                                           : LineAt(hit.begin, hit.end);
      std::vector<Match> matches = MatchLine(*line, hit.patterns);
      if (matches.empty()) continue;
      if (Cancel(matches, *line)) {
        NoteBenign(matches);
        continue;
      }
      const bool benign = std::any_of(matches.begin(), matches.end(),
                                      [&](const Match& m) { return RoleOf(m) == Role::kBenign; });
      if (benign) {
        NoteBenign(matches);
        continue;
      }
      std::vector<Match> events;
      for (Match& match : matches) {
        if (RoleOf(match) == Role::kContext) {
          AddFact(match, *line, hit.begin);
        } else {
          events.push_back(std::move(match));
        }
      }
      if (!events.empty()) Block(std::move(line), hit, std::move(events), i + 1 == cuts.size());
    }
  }

  void NoteBenign(const std::vector<Match>& matches) {
    for (const Match& match : matches) {
      std::vector<uint32_t>& seen = digest_.benign;
      if (std::find(seen.begin(), seen.end(), match.signature) == seen.end()) seen.push_back(match.signature);
    }
  }

  Role RoleOf(const Match& match) const { return catalogue_.signatures()[match.signature].role; }

  // The process's own words: what a logger or a launcher says of an exception, somebody has caught.
  static bool SpeaksItself(const SourceLine& line) {
    const Peeled& peeled = line.peeled;
    return peeled.dialects.size() == peeled.outer && peeled.prefix.level.empty() && !peeled.prefix.launcher && !peeled.prefix.kernel;
  }

  // The signatures among `patterns` that this line really has, with their captures.
  std::vector<Match> MatchLine(const SourceLine& line, const std::vector<uint32_t>& patterns) const {
    std::vector<Match> out;
    constexpr int kGroupsMax = 24;
    for (uint32_t id : patterns) {
      const CompiledPattern& pattern = catalogue_.patterns()[id];
      const bool known = std::any_of(out.begin(), out.end(),
                                     [&](const Match& m) { return m.signature == pattern.signature; });
      if (known) continue;
      const int groups = static_cast<int>(pattern.groups().size());
      FF_CHECK(groups <= kGroupsMax);
      re2::StringPiece found[kGroupsMax];
      const re2::StringPiece text(line.text.data(), line.text.size());
      bool matched = false;
      if (pattern.at_start()) {
        const bool bare = pattern.signature == traceback_;
        if (bare && !SpeaksItself(line)) continue;
        const bool benign = catalogue_.signatures()[pattern.signature].role == Role::kBenign;
        for (size_t start : line.peeled.starts) {
          // Harmless texts are no exceptions: not behind an exception's class.
          if ((benign || bare) && start > line.peeled.prefix.length) break;
          size_t at = start;
          while (!bare && at < line.text.size() && line.text[at] == ' ') ++at;
          if (pattern.re().Match(text, at, text.size(), RE2::ANCHOR_START, found, groups)) {
            matched = true;
            break;
          }
        }
      } else {
        matched = pattern.re().Match(text, 0, text.size(), RE2::UNANCHORED, found, groups);
      }
      if (!matched) continue;
      Match match{pattern.signature, {}};
      for (int g = 1; g < groups; ++g) {
        if (found[g].data() == nullptr || pattern.groups()[static_cast<size_t>(g)].empty()) continue;
        match.fields.emplace_back(pattern.groups()[static_cast<size_t>(g)], std::string(found[g]));
      }
      for (const auto& [name, value] : match.fields) {
        const uint32_t refined = catalogue_.Refine(match.signature, name, value);
        if (refined != match.signature) {
          match.signature = refined;
          break;
        }
      }
      out.push_back(std::move(match));
    }
    return out;
  }

  // A line that withdraws an earlier one ("Thread is unstuck!").
  bool Cancel(const std::vector<Match>& matches, const SourceLine& line) {
    bool any = false;
    for (const Match& match : matches) {
      const std::string& target = catalogue_.signatures()[match.signature].row.cancels();
      if (target.empty()) continue;
      any = true;
      const uint32_t index = catalogue_.IndexOf(target).value_or(UINT32_MAX);
      for (auto it = digest_.events.rbegin(); it != digest_.events.rend(); ++it) {
        if (it->signature == index && WriterOf(it->prefix) == WriterOf(line.peeled.prefix)) {
          digest_.events.erase(std::next(it).base());
          break;
        }
      }
    }
    return any;
  }

  void AddFact(const Match& match, const SourceLine& line, uint64_t offset) {
    if (digest_.facts.size() >= kFactsMax) return;
    // Facts repeat in every step's banner: one copy says it.
    std::string key = Cat(match.signature, "\n", line.peeled.prefix.host, "\n");
    for (const auto& [name, value] : match.fields) key += Cat(name, "=", value, "\n");
    if (line.peeled.prefix.pid) key += Cat("pid=", *line.peeled.prefix.pid);
    if (!facts_seen_.insert(std::move(key)).second) return;
    Event fact;
    fact.signature = match.signature;
    fact.at = PositionOf(offset);
    fact.prefix = line.peeled.prefix;
    fact.fields = match.fields;
    fact.text = Bounded(Bytes(offset, LineEnd(offset)));
    digest_.facts.push_back(std::move(fact));
  }

  uint64_t LineEnd(uint64_t begin) const {
    const std::string_view rest = Bytes(begin, End());
    const size_t newline = rest.find('\n');
    return begin + (newline == std::string_view::npos ? rest.size() : newline);
  }

  // Patterns that hit the line at `offset`, from the remembered lines.
  const LineHit* PendingAt(uint64_t offset) const {
    const auto it = std::lower_bound(pending_.begin(), pending_.end(), offset,
                                     [](const LineHit& line, uint64_t at) { return line.begin < at; });
    return it != pending_.end() && it->begin == offset ? &*it : nullptr;
  }

  // A reader whose first line is `first` and that goes on in the window behind it.
  LineReader ReaderFrom(std::shared_ptr<const SourceLine> first, uint64_t line_end, bool can_go_on) {
    return LineReader([this, first = std::move(first), next = line_end + 1, can_go_on]() mutable -> std::shared_ptr<const SourceLine> {
      if (first != nullptr) return std::exchange(first, nullptr);
      if (!can_go_on || next >= scanned_) return nullptr;
      const uint64_t begin = next;
      next = LineEnd(begin) + 1;
      return LineAt(begin, next - 1);
    });
  }

  // A line of the window. Blocks end at a line that then begins the next one, and stamps are looked for behind each
  // event: where every line is one, they would be peeled again and again.
  std::shared_ptr<const SourceLine> LineAt(uint64_t begin, uint64_t end) const {
    if (peeled_.size() >= kPeeledMax && !peeled_.contains(begin)) peeled_.erase(peeled_.begin());
    std::shared_ptr<const SourceLine>& line = peeled_[begin];
    if (line == nullptr) line = std::make_shared<const SourceLine>(begin, Bytes(begin, end), habits_);
    return line;
  }

  void Block(std::shared_ptr<const SourceLine> line, const LineHit& hit, std::vector<Match> matches, bool last_piece) {
    const bool is_traceback = IsTracebackStart(line->message());
    const uint64_t offset = hit.begin;
    // A record that only quotes a traceback is told by its own row.
    if (!is_traceback && matches.size() > 1) std::erase_if(matches, [&](const Match& m) { return m.signature == traceback_; });
    LineReader reader = ReaderFrom(std::move(line), hit.end, last_piece);
    if (is_traceback) {
      TracebackBlock(reader, offset, std::move(matches));
    } else {
      MessageBlock(reader, offset, std::move(matches));
    }
  }

  std::vector<Match> MatchesAt(const SourceLine& line) const {
    const LineHit* hit = PendingAt(line.offset);
    if (hit == nullptr) return {};
    std::vector<Match> matches = MatchLine(line, hit->patterns);
    std::erase_if(matches, [&](const Match& m) {
      return RoleOf(m) == Role::kBenign || RoleOf(m) == Role::kContext || m.signature == traceback_;
    });
    return matches;
  }

  // The better name for an event: the inner fault before its wrapper, the cause before the symptom.
  bool Better(const Match& a, const Match& b) const {
    const auto rank = [&](const Match& m) {
      const Signature& signature = catalogue_.signatures()[m.signature];
      return std::make_tuple(!signature.row.wrapper(), signature.role, !signature.row.has_refines());
    };
    return rank(a) > rank(b);
  }

  // `header` holds what matched on the line that begins it.
  void TracebackBlock(LineReader& reader, uint64_t offset, std::vector<Match> header) {
    const TracebackParse parse = ParseTraceback(reader);
    const bool ignored = PreviousLineStartsWith(offset, "Exception ignored in");
    std::set<size_t> used;
    std::erase_if(header, [&](const Match& m) { return m.signature == traceback_; });
    // Nothing but its frames up to the end of the log.
    const bool cut = parse.chains.empty() && reader.At(parse.lines.size()) == nullptr;
    if (cut && !ignored) EmitCut(*reader.At(0), header);
    for (const TracebackChain& chain : parse.chains) {
      if (ignored) break;
      struct Found {
        size_t line;
        Match match;
      };
      std::vector<Found> found;
      std::vector<size_t> order;  // the cause first, then the others as printed
      order.push_back(chain.cause);
      for (size_t i = 0; i < chain.raised.size(); ++i) {
        if (i != chain.cause) order.push_back(i);
      }
      for (size_t i : order) {
        const Raised& raised = chain.raised[i];
        for (size_t l = raised.line; l < raised.lines_end; ++l) {
          for (Match& match : MatchesAt(*reader.At(l))) found.push_back({l, std::move(match)});
        }
        // The cause's own name stands, unless it is only a wrapper, or the echo of an end elsewhere (a connection
        // that a killed child left) on which the outer exception says more.
        const bool named = std::any_of(found.begin(), found.end(), [&](const Found& f) {
          return !catalogue_.signatures()[f.match.signature].row.wrapper() && RoleOf(f.match) > Role::kCollateral;
        });
        if (named) break;
      }
      for (const Match& match : header) found.push_back({0, match});
      const Found* best = nullptr;
      for (const Found& f : found) {
        if (best == nullptr || Better(f.match, best->match)) best = &f;
      }
      const Raised& cause = chain.raised[chain.cause];
      const bool wrapper = best == nullptr || catalogue_.signatures()[best->match.signature].row.wrapper();
      const size_t deciding = best == nullptr || (wrapper && best->line != cause.line) ? cause.line : best->line;
      Event event;
      event.signature = best == nullptr ? traceback_ : best->match.signature;
      event.in_traceback = true;
      event.exception = cause.class_name;
      if (best != nullptr) event.fields = best->match.fields;
      for (const Found& f : found) {
        if (&f != best) AddOther(f.match, &event);
      }
      for (size_t l : parse.lines) {
        const std::string_view call = CollectiveInFrame(reader.At(l)->message());
        if (call.empty()) continue;
        event.fields.emplace_back("call", std::string(call));
        break;
      }
      const SourceLine& line = *reader.At(deciding);
      event.prefix = line.peeled.prefix;
      if (cause.process && !event.prefix.local_rank) event.prefix.local_rank = cause.process;
      if (const auto origin = OriginOfRelay(reader.At(0)->message())) AttributeTo(*origin, &event);
      size_t block_end = cause.lines_end;
      std::vector<Quoted> quoted;
      if (IsNamed(event, "elastic.childfailed")) {
        block_end = std::max(block_end, AddReports(reader, deciding + 1, &event, &quoted));
      }
      const bool first_chain = &chain == &parse.chains.front();
      if (first_chain) {
        for (size_t l : parse.lines) {
          if (l != deciding && event.block.size() < kBlockLinesMax) event.block.push_back(Bounded(reader.At(l)->raw));
        }
      }
      for (size_t l = deciding; l < block_end; ++l) used.insert(l);
      Emit(std::move(event), line);
      for (Quoted& one : quoted) Emit(std::move(one.event), *one.line);
    }
    for (size_t l : parse.lines) used.insert(l);
    Consume(reader, used);
  }

  // The one who prints a relayed traceback is not the one who raised it.
  static void AttributeTo(int32_t origin, Event* event) {
    event->relayed = event->prefix.rank != origin;
    if (!event->relayed) return;
    const std::optional<Stamp> stamp = event->prefix.stamp;
    const size_t length = event->prefix.length;
    event->prefix = {};
    event->prefix.rank = origin;
    event->prefix.stamp = stamp;
    event->prefix.length = length;
  }

  // A traceback of which the end is missing: the log was cut while the rank was dying.
  void EmitCut(const SourceLine& line, const std::vector<Match>& header) {
    Event event;
    event.signature = header.empty() ? traceback_ : header.front().signature;
    if (!header.empty()) event.fields = header.front().fields;
    event.prefix = line.peeled.prefix;
    event.in_traceback = true;
    Emit(std::move(event), line);
  }

  bool IsNamed(const Event& event, std::string_view id) const {
    return catalogue_.signatures()[event.signature].row.id() == id;
  }

  void AddOther(const Match& match, Event* event) const {
    if (match.signature != event->signature) event->also.push_back(match.signature);
    for (const auto& field : match.fields) event->fields.push_back(field);
  }

  // Reads a launcher's report into `event`, and an event for each exception that it quotes into `quoted`.
  // Returns the index behind its last line.
  size_t AddReports(LineReader& reader, size_t from, Event* event, std::vector<Quoted>* quoted) {
    ElasticReportParse report = ParseElasticReport(reader, from);
    for (size_t i = 0; i < report.entries.size(); ++i) {
      ElasticReport& entry = report.entries[i];
      entry.at = PositionOf(entry.at.byte_offset);
      if (auto found = QuotedException(reader, report.tracebacks[i], entry)) quoted->push_back(std::move(*found));
      event->reports.push_back(std::move(entry));
    }
    return report.lines_end;
  }

  // The exception of a worker as its launcher quotes it: where no log tells ranks apart, only this does.
  std::optional<Quoted> QuotedException(LineReader& reader, const QuotedTraceback& lines, const ElasticReport& entry) {
    Quoted out;
    std::optional<Match> best;
    std::string_view call;
    for (size_t l = lines.begin; l < lines.end; ++l) {
      const SourceLine& line = *reader.At(l);
      if (call.empty()) call = CollectiveInFrame(line.message());
      // The launcher indents the whole text by two blanks; frames stand deeper.
      const std::string_view name = ExceptionClass(::firstfault::Trim(line.message()));
      if (line.message().starts_with("   ") || name.empty()) continue;
      // The first of a chain is the cause, unless a later one names it better.
      bool better = out.line == nullptr;
      for (Match& match : MatchesAt(line)) {
        if (best && !Better(match, *best)) continue;
        best = std::move(match);
        better = true;
      }
      if (!better) continue;
      out.line = &line;
      out.event.exception = std::string(name);
    }
    if (out.line == nullptr || !entry.rank) return std::nullopt;
    out.event.signature = best ? best->signature : traceback_;
    if (best) out.event.fields = std::move(best->fields);
    if (!call.empty()) out.event.fields.emplace_back("call", std::string(call));
    out.event.in_traceback = true;
    out.event.prefix = out.line->peeled.prefix;
    out.event.prefix.rank = entry.rank;
    out.event.prefix.local_rank = entry.local_rank;
    out.event.prefix.pid = entry.pid;
    if (!entry.host.empty()) out.event.prefix.host = entry.host;
    out.event.prefix.launcher = true;
    return out;
  }

  // A fault line and the lines that continue it.
  void MessageBlock(LineReader& reader, uint64_t, std::vector<Match> matches) {
    const SourceLine& first = *reader.At(0);
    struct Found {
      size_t line;
      Match match;
    };
    std::vector<Found> found;
    for (Match& match : matches) found.push_back({0, std::move(match)});
    const auto best_of = [&] {
      const Found* best = nullptr;
      for (const Found& f : found) {
        if (best == nullptr || Better(f.match, best->match)) best = &f;
      }
      return best;
    };
    // Only a wrapper's text, or an exception's of a known kind, goes on in free lines; stack frames may follow anything.
    const bool open_text = best_of()->match.signature != traceback_ &&
                           (catalogue_.signatures()[best_of()->match.signature].row.wrapper() ||
                            first.peeled.starts.size() > first.peeled.dialects.size() + 1);
    std::set<size_t> used = {0};
    // A launcher's report is read as such below: what it quotes is not its own text.
    const bool report = catalogue_.signatures()[best_of()->match.signature].row.id() == "elastic.childfailed";
    for (size_t i = 1; i <= kBlockLinesMax && !report; ++i) {
      const SourceLine* line = reader.At(i);
      if (line == nullptr || ::firstfault::Trim(line->message()).empty()) break;
      // A logger, or a launcher, speaks anew.
      if (line->peeled.dialects.size() != line->peeled.outer || line->peeled.prefix.launcher) break;
      const WriterKey writer = WriterOf(line->peeled.prefix);
      if (!writer.empty() && writer != WriterOf(first.peeled.prefix)) break;
      const std::string_view message = line->message();
      if (IsTracebackStart(message)) break;
      const bool stack = message.starts_with("frame #") || message.starts_with("Exception raised from") ||
                         message.starts_with("  what():") || message.starts_with("what():") ||
                         message.starts_with("  ") || message.starts_with("    @ ");
      if (!stack && (!open_text || i > kContinuationLinesMax)) break;
      std::vector<Match> more = MatchesAt(*line);
      // The same fault once more is a new event, not the rest of this one.
      const bool again = std::any_of(more.begin(), more.end(), [&](const Match& m) { return m.signature == best_of()->match.signature; });
      if (again && !stack) break;
      for (Match& match : more) found.push_back({i, std::move(match)});
      used.insert(i);
    }
    const Found* best = best_of();
    Event event;
    event.signature = best->match.signature;
    event.fields = best->match.fields;
    for (const Found& f : found) {
      if (&f != best) AddOther(f.match, &event);
    }
    const SourceLine& line = *reader.At(best->line);
    if (event.signature == traceback_) event.exception = std::string(ExceptionClass(line.message()));
    event.prefix = line.peeled.prefix;
    if (best->line != 0 && WriterOf(event.prefix).empty()) event.prefix = first.peeled.prefix;
    for (size_t l : used) {
      if (l != best->line) event.block.push_back(Bounded(reader.At(l)->raw));
    }
    std::vector<Quoted> quoted;
    if (IsNamed(event, "elastic.childfailed")) {
      const size_t end = AddReports(reader, best->line + 1, &event, &quoted);
      for (size_t l = best->line + 1; l < end; ++l) used.insert(l);
    }
    Emit(std::move(event), line);
    for (Quoted& one : quoted) Emit(std::move(one.event), *one.line);
    Consume(reader, used);
  }

  void Consume(LineReader& reader, const std::set<size_t>& lines) {
    for (size_t l : lines) {
      if (l > 0) consumed_.insert(reader.At(l)->offset);
    }
  }

  bool PreviousLineStartsWith(uint64_t offset, std::string_view text) const {
    if (offset == 0 || offset <= base_) return false;
    const uint64_t begin = LineBegin(offset - 1);
    const SourceLine line(begin, Bytes(begin, offset - 1), habits_);
    return line.message().starts_with(text);
  }

  // Begin of the line that contains `offset` (a newline belongs to the line it ends).
  uint64_t LineBegin(uint64_t offset) const {
    const std::string_view before = Bytes(base_, offset);
    const size_t newline = before.rfind('\n');
    return newline == std::string_view::npos ? base_ : base_ + newline + 1;
  }

  void Emit(Event event, const SourceLine& line) {
    const Signature& signature = catalogue_.signatures()[event.signature];
    const auto key = std::make_tuple(WriterOf(event.prefix), event.signature, event.exception);
    auto [it, fresh] = copies_.try_emplace(key, Copies{0, digest_.events.size()});
    Copies& copies = it->second;
    ++copies.count;
    const size_t room = kEventsMax + (signature.role == Role::kInitiating ? kCausesMore : 0);
    if (copies.count > kCopiesMax || digest_.events.size() >= room) {
      if (fresh) copies.first = SIZE_MAX;
      if (copies.first == SIZE_MAX) {
        ++digest_.events_dropped;
      } else {
        ++digest_.events[copies.first].count;
        digest_.events[copies.first].last_at = PositionOf(line.offset);
      }
      return;
    }
    event.at = PositionOf(line.offset);
    event.last_at = event.at;
    event.text = Bounded(Bytes(line.offset, LineEnd(line.offset)));
    if (!event.prefix.stamp) event.stamp_before = StampBefore(line.offset);
    const bool fault = signature.severity >= Severity::kError && signature.role > Role::kPrecursor;
    if (fault && (!context_kept_ || (signature.role == Role::kInitiating && !root_context_kept_))) {
      if (!context_kept_) SampleLines(line.offset, kBeforeFaultLines);
      context_kept_ = true;
      root_context_kept_ |= signature.role == Role::kInitiating;
      event.context = LinesBefore(line.offset, kContextLines,
                                  signature.role >= Role::kAmbiguous ? kContextBytes : kEffectContextBytes);
    }
    digest_.events.push_back(std::move(event));
  }

  // Whole lines that end at `offset`, with their newlines: at most `count`, and `bytes` without the newlines.
  std::string LinesBefore(uint64_t offset, size_t count, size_t bytes) const {
    uint64_t begin = offset;
    for (size_t i = 0; i < count && begin > base_; ++i) {
      const uint64_t line = LineBegin(begin - 1);
      const uint64_t size = begin - 1 - line;
      if (bytes == 0 || size > bytes) break;
      bytes -= size;
      begin = line;
    }
    return std::string(Bytes(begin, offset));
  }

  std::optional<Stamp> StampBefore(uint64_t offset) const {
    uint64_t at = offset;
    for (size_t i = 0; i < kStampBackLines && at > base_; ++i) {
      const uint64_t begin = LineBegin(at - 1);
      const auto line = LineAt(begin, at - 1);
      if (line->peeled.prefix.stamp) return line->peeled.prefix.stamp;
      at = begin;
    }
    return std::nullopt;
  }

  // Parses lines for identity, clocks and progress; the lines before `end`, at most `count`, each once.
  void SampleLines(uint64_t end, size_t count) {
    uint64_t begin = end;
    for (size_t i = 0; i < count && begin > std::max(base_, sampled_); ++i) begin = LineBegin(begin - 1);
    begin = std::max(begin, sampled_);
    // Numbered by counting on: asking for each line's number would count the same bytes again and again.
    Position at{begin < End() ? static_cast<uint32_t>(LineNumberAt(begin)) : 0, begin};
    while (begin < end && begin < End()) {
      const uint64_t line_end = LineEnd(begin);
      at.byte_offset = begin;
      Sample(SourceLine(begin, Bytes(begin, line_end), habits_), at);
      begin = line_end + 1;
      if (line_end < End()) at.line += static_cast<uint32_t>(LineEndsIn(Bytes(line_end, begin)));
    }
    sampled_ = std::max(sampled_, std::min<uint64_t>(begin, End()));
  }

  void Sample(const SourceLine& line, const Position& at) {
    if (::firstfault::Trim(line.text).empty()) return;
    const ProgressFields fields = ParseProgress(line.message());
    const Prefix& prefix = line.peeled.prefix;
    std::optional<int32_t> rank = prefix.rank ? prefix.rank : fields.rank;
    // "FloatingPointError: loss is nan at step 41" is no step that was made.
    const bool exception = line.peeled.starts.size() > line.peeled.dialects.size() + 1;
    if (fields.step && !exception) {
      std::optional<ClockReading> stamp;
      if (prefix.stamp) stamp = *prefix.stamp;
      std::string text(line.raw.substr(0, fields.bar ? kSampleTextBytes : 0));
      digest_.progress.push_back({at, rank, *fields.step, fields.bar, fields.last, stamp, std::move(text)});
    }
    for (const auto& [bytes, device] : {std::pair(fields.memory_bytes, false), std::pair(fields.device_memory_bytes, true)}) {
      if (!bytes) continue;
      const std::optional<double> share = device ? std::nullopt : fields.memory_share;
      digest_.memory.push_back({at, rank, *bytes, device, std::string(line.raw.substr(0, device ? 0 : kSampleTextBytes)), share});
    }
    if (IsRemark(line)) {
      digest_.remarks.push_back({at, rank, prefix.local_rank, std::string(line.raw.substr(0, kSampleTextBytes)), ShapeOf(line.message())});
    }
    if (lazy_left_ > 0) {
      --lazy_left_;
      for (const Match& match : MatchLine(line, lazy_patterns_)) AddFact(match, line, line.offset);
    }
    WriterKey key = WriterOf(prefix);
    if (!key.rank && rank) key = WriterKey{rank, {}, {}, {}};
    if (writers_.size() >= kWritersMax && !writers_.contains(key)) return;
    Writer& writer = writers_[key];
    writer.rank = rank;
    writer.local_rank = prefix.local_rank;
    writer.last_at = at;
    writer.last_text.assign(line.raw.substr(0, kSampleTextBytes));
  }

  // Marked as a warning or worse by the writer itself, and known to no signature (harmless ones are known too).
  bool IsRemark(const SourceLine& line) {
    const Prefix& prefix = line.peeled.prefix;
    const bool marked = prefix.level == "W" || prefix.level == "E" || prefix.level == "C" || prefix.level == "F";
    if (!marked || prefix.launcher || prefix.kernel) return false;
    for (const LineHit& hit : FindLineHits(catalogue_, patterns_, buffers_.hits, line.raw)) {
      if (!MatchLine(line, hit.patterns).empty()) return false;
    }
    return true;
  }

  void EnsureHead() {
    if (head_done_) return;
    head_done_ = true;
    std::vector<std::string_view> lines;
    uint64_t at = base_, sample_end = base_;
    for (size_t i = 0; i < kHeadLines && at < End(); ++i) {
      const uint64_t end = LineEnd(at);
      if (i < kHabitLines) lines.push_back(Bytes(at, end));
      at = end + 1;
      sample_end = std::min<uint64_t>(at, End());
    }
    habits_ = LearnHabits(lines);
    peeled_.clear();
    SampleLines(sample_end, kHeadLines);
  }

  void SampleTail() { SampleLines(End(), kTailLines); }

  // Everything so far is worked on, and nothing will join what comes.
  void Flush() {
    ScanTo(End());
    Work(UINT64_MAX);
    if (!window_.empty()) EnsureHead();  // else the head is still to come
    LineNumberAt(End());
    if (EndsInALine()) ++cursor_line_;
    in_long_line_ = false;
    newline_seen_ = true;  // what is numbered up to here stays so
    base_ = End();
    cursor_offset_ = base_;
    window_.clear();
    consumed_.clear();
    breaks_.clear();
  }

  void Trim() {
    uint64_t keep = scanned_ > kAheadBytes ? scanned_ - kAheadBytes : 0;
    if (!pending_.empty()) keep = std::min(keep, pending_.front().begin);
    keep = keep > kBackBytes ? keep - kBackBytes : 0;
    // Moving the window costs as much as it holds: only when a good part of it is done with.
    if (keep <= base_ + kChunkBytes) return;
    keep = LineBegin(keep);
    if (keep <= base_) return;
    if (cursor_offset_ < keep) LineNumberAt(keep);
    window_.erase(0, keep - base_);
    base_ = keep;
    consumed_.erase(consumed_.begin(), consumed_.lower_bound(keep));
    breaks_.erase(breaks_.begin(), std::lower_bound(breaks_.begin(), breaks_.end(), keep));
  }

  struct Copies {
    int64_t count;
    size_t first;
  };

  const Catalogue& catalogue_;
  const PatternSet& patterns_;
  ScanBuffers& buffers_;
  std::string& window_;         // bytes [base_, End()) of the source
  uint64_t base_ = 0;
  uint64_t examined_ = 0;       // carriage returns up to here were judged
  uint64_t scanned_ = 0;        // whole lines up to here were searched
  uint64_t sampled_ = 0;        // lines up to here were offered as samples
  uint64_t cursor_offset_ = 0;  // line numbers are counted up to here
  int64_t cursor_line_ = 1;
  bool skipping_line_ = false;  // inside a line that was cut
  bool in_long_line_ = false;     // the line that is being read is a long one
  bool newline_seen_ = false;
  std::vector<uint64_t> breaks_;  // carriage returns in the window that were made line ends, in order
  bool head_done_ = false;
  bool context_kept_ = false, root_context_kept_ = false;
  uint32_t traceback_ = UINT32_MAX;
  size_t lazy_left_ = kLazyLines;
  std::vector<uint32_t> lazy_patterns_;
  PrefixHabits habits_;
  mutable std::map<uint64_t, std::shared_ptr<const SourceLine>> peeled_;  // by offset; views into the window
  std::vector<LineHit> pending_;   // offsets in the source, in order, not yet worked on
  std::set<uint64_t> consumed_;    // lines that already belong to a block
  std::set<std::string> facts_seen_;
  std::map<WriterKey, Writer> writers_;
  std::map<std::tuple<WriterKey, uint32_t, std::string>, Copies> copies_;
  SourceDigest digest_;
};

SourceScanner::SourceScanner(const Engine& engine, ScanBuffers& buffers, SourceInfo info)
    : impl_(std::make_unique<Impl>(engine, buffers, std::move(info))) {}
SourceScanner::~SourceScanner() = default;
void SourceScanner::Feed(std::string_view bytes) { impl_->Feed(bytes); }
void SourceScanner::Skip(uint64_t bytes, uint64_t lines) { impl_->Skip(bytes, lines); }
SourceDigest SourceScanner::Finish() { return impl_->Finish(); }

}  // namespace firstfault
