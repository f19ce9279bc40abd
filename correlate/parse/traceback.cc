#include "correlate/parse/traceback.h"

#include <re2/re2.h>

#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr std::string_view kStart = "Traceback (most recent call last):";
// Lines of other writers, or of loggers, that may stand between two lines of a traceback.
constexpr size_t kForeignLinesMax = 64;
// Lines of an exception's message behind its first: NCCL's "Last error:" pair, CUDA's advice, ...
constexpr size_t kMessageLinesMax = 12;

bool IsChainLink(std::string_view message) {
  return message.starts_with("During handling of the above exception") ||
         message.starts_with("The above exception was the direct cause");
}

std::optional<int32_t> SpawnedProcess(std::string_view message) {
  static const RE2* const form = new RE2(R"(-- Process (\d+) terminated with the following error:)");
  int32_t number = 0;
  if (!RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), *form, &number)) return std::nullopt;
  return number;
}

// One traceback in the making.
struct Open {
  TracebackChain chain;
  bool in_frames = true;       // waiting for the final line
  bool link_pending = false;   // a chain link was read: the next start continues this chain
  bool inner_pending = false;  // a wrapper announced an inner traceback
  std::optional<int32_t> process;
};

class Parser {
 public:
  explicit Parser(LineReader& reader) : reader_(reader) {}

  TracebackParse Run() {
    const SourceLine* first = reader_.At(0);
    if (first == nullptr) return {};
    writer_ = WriterOf(first->peeled.prefix);
    base_dialects_ = first->peeled.dialects.size();
    open_.push_back({});
    out_.lines.push_back(0);
    size_t foreign = 0;
    for (size_t i = 1; i < kTracebackLinesMax; ++i) {
      const SourceLine* line = reader_.At(i);
      if (line == nullptr) break;
      if (!Belongs(*line)) {
        if (++foreign > kForeignLinesMax || Settled()) break;
        continue;
      }
      if (!Take(i, line->message())) break;
      foreign = 0;
    }
    for (Open& open : open_) {
      if (!open.chain.raised.empty()) out_.chains.push_back(std::move(open.chain));
    }
    return std::move(out_);
  }

 private:
  // Same writer, and no logger prefix beyond what the first line had.
  bool Belongs(const SourceLine& line) const {
    return WriterOf(line.peeled.prefix) == writer_ && line.peeled.dialects.size() <= base_dialects_ &&
           !line.peeled.prefix.launcher;
  }

  // No traceback waits for its final line or for a chained one.
  bool Settled() const {
    for (const Open& open : open_) {
      if (open.in_frames || open.link_pending || open.inner_pending) return false;
    }
    return true;
  }

  // Returns false where the block ends before this line.
  bool Take(size_t index, std::string_view message) {
    if (Trim(message).empty()) {
      message_lines_ = kMessageLinesMax;  // a blank ends the message, not the chain
      ++blanks_;
      return blanks_ <= 3;
    }
    blanks_ = 0;
    if (IsTracebackStart(message)) return Start(index, message);
    if (IsChainLink(message)) {
      Open* last = LastClosed();
      if (last == nullptr) return false;
      last->link_pending = true;
      return Keep(index);
    }
    if (const auto process = SpawnedProcess(message)) {
      Open* last = LastClosed();
      if (last == nullptr) return false;
      last->inner_pending = true;
      last->process = process;
      return Keep(index);
    }
    const bool indented = message[0] == ' ' || message[0] == '\t' || message.starts_with("| ") ||
                          message.starts_with("+-");
    if (indented && Waiting() != nullptr) return Keep(index);
    if (Open* waiting = indented ? nullptr : Waiting()) {
      const std::string_view name = ExceptionClass(message);
      if (name.empty()) return ++strays_ <= kForeignLinesMax;  // an unmarked line of somebody else
      Raised raised;
      raised.line = index;
      raised.lines_end = index + 1;
      raised.class_name = std::string(name);
      raised.process = waiting->process;
      waiting->chain.raised.push_back(std::move(raised));
      if (waiting->inner_pending) waiting->chain.cause = waiting->chain.raised.size() - 1;
      waiting->in_frames = waiting->inner_pending = waiting->link_pending = false;
      message_lines_ = 0;
      return Keep(index);
    }
    // Behind a final line: more of its message, while nobody else's block is open.
    Open* last = LastClosed();
    if (last == nullptr || message_lines_ >= kMessageLinesMax) {
      return !Settled() && ++strays_ <= kForeignLinesMax;
    }
    ++message_lines_;
    last->chain.raised.back().lines_end = index + 1;
    return Keep(index);
  }

  bool Start(size_t index, std::string_view message) {
    const bool quoted = message.starts_with("Original ");
    for (Open& open : open_) {
      if (open.in_frames || (!open.link_pending && !open.inner_pending)) continue;
      open.in_frames = true;
      return Keep(index);
    }
    if (quoted && LastClosed() != nullptr) {
      Open* last = LastClosed();
      last->inner_pending = last->in_frames = true;
      return Keep(index);
    }
    if (Settled()) return false;  // a new traceback: its own block
    open_.push_back({});          // interleaved with the one that is open
    return Keep(index);
  }

  bool Keep(size_t index) {
    out_.lines.push_back(index);
    return true;
  }

  // The traceback that a final line closes: the one opened first.
  Open* Waiting() {
    for (Open& open : open_) {
      if (open.in_frames) return &open;
    }
    return nullptr;
  }

  Open* LastClosed() {
    for (auto it = open_.rbegin(); it != open_.rend(); ++it) {
      if (!it->in_frames && !it->chain.raised.empty()) return &*it;
    }
    return nullptr;
  }

  LineReader& reader_;
  WriterKey writer_;
  size_t base_dialects_ = 0;
  std::vector<Open> open_;
  TracebackParse out_;
  size_t message_lines_ = 0, blanks_ = 0, strays_ = 0;
};

}  // namespace

std::string_view ExceptionClass(std::string_view message) {
  static const RE2* const form = new RE2(R"(((?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Za-z_][A-Za-z0-9_]*)(?::(?: |$)| ?$))");
  re2::StringPiece found;
  const re2::StringPiece text(message.data(), message.size());
  re2::StringPiece groups[2];
  if (!form->Match(text, 0, text.size(), RE2::ANCHOR_START, groups, 2)) return {};
  return {groups[1].data(), groups[1].size()};
}

std::string_view CollectiveInFrame(std::string_view message) {
  static const RE2* const form = new RE2(R"(torch/distributed/distributed_c10d\.py", line \d+, in ([a-z][a-z_]*)$)");
  re2::StringPiece name;
  const re2::StringPiece text(message.data(), message.size());
  if (!RE2::PartialMatch(text, *form, &name) || name == "wrapper") return {};
  return {name.data(), name.size()};
}

std::optional<int32_t> OriginOfRelay(std::string_view message) {
  static const RE2* const form = new RE2(R"(Traceback \(most recent call last\): \(RANK (\d{1,8})\)\s*)");
  int32_t rank = 0;
  if (!RE2::FullMatch(re2::StringPiece(message.data(), message.size()), *form, &rank)) return std::nullopt;
  return rank;
}

bool IsTracebackStart(std::string_view message) {
  if (message.starts_with(kStart) || (message.starts_with("Original ") && message.substr(9).starts_with(kStart))) return true;
  // Announced: "Scheduler hit an exception: Traceback ...". A field of a report (" : ") only quotes it.
  const std::string_view trimmed = Trim(message);
  if (!trimmed.ends_with(kStart)) return false;
  const std::string_view before = trimmed.substr(0, trimmed.size() - kStart.size());
  return before.ends_with(": ") && !before.ends_with(" : ");
}

TracebackParse ParseTraceback(LineReader& reader) { return Parser(reader).Run(); }

}  // namespace firstfault
