// Text of logs goes into fences. Sentences hold names and values from logs as well; their words that a
// markdown reader might act on (emphasis, links, mentions, issue numbers, HTML) become code spans, which is
// also how a person writes NAME=VALUE in a ticket.
#include <algorithm>

#include "coordinator/render.h"
#include "coordinator/report_document.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// A ticket wraps by itself, but a page of one line helps nobody.
constexpr size_t kLogColumns = 400;

size_t LongestTickRun(std::string_view text) {
  size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || (c & 0x80) != 0;
}

// No reader of markdown acts on it, wherever in a line it stands: letters and digits with marks of plain
// prose, perhaps in one pair of brackets ("](", which makes a link, is inside a word).
bool IsPlain(std::string_view word) {
  constexpr std::string_view kProseMarks = ".,;'\"()/%-?=+";
  if (word.starts_with("[")) word.remove_prefix(1);
  if (word.ends_with(",") || word.ends_with(":")) word.remove_suffix(1);
  if (word.ends_with("]")) word.remove_suffix(1);
  return std::any_of(word.begin(), word.end(), IsWordChar) && !word.starts_with("www.") &&
         std::all_of(word.begin(), word.end(),
                     [&](char c) { return IsWordChar(c) || kProseMarks.find(c) != std::string_view::npos; });
}

// At the start of a paragraph or item these would begin a list or a check box: "-x", "+", "12.", "[x]".
bool IsPlainAtStart(std::string_view word) {
  const bool list_number =
      word.find_first_not_of("0123456789") == word.size() - 1 && (word.back() == '.' || word.back() == ')');
  return IsPlain(word) && !list_number &&
         std::string_view("-+=[").find(word.front()) == std::string_view::npos;
}

std::string CodeSpan(std::string_view text) {
  const std::string ticks(LongestTickRun(text) + 1, '`');
  // Blanks keep back-ticks at the ends from joining the fence; one on each side is dropped by the reader.
  const bool pad = text.front() == '`' || text.back() == '`';
  return pad ? Cat(ticks, ' ', text, ' ', ticks) : Cat(ticks, text, ticks);
}

// Marks of the sentence stay outside the span: "(`a_b`)," rather than "`(a_b),`". At the start of a paragraph
// brackets belong into it: they could begin a link's definition.
std::string SafeWord(std::string_view word, bool at_start) {
  if (at_start ? IsPlainAtStart(word) : IsPlain(word)) return std::string(word);
  const std::string_view opening = at_start ? "(" : "([\"", closing = at_start ? ".,;:)" : ".,;:)]\"";
  size_t begin = 0, end = word.size();
  while (begin < end && opening.find(word[begin]) != std::string_view::npos) ++begin;
  // A bracket that the word itself opened stays with it: "n[05-06]".
  const auto own = [&] { return word[end - 1] == ']' && word.substr(begin, end - begin).find('[') != std::string_view::npos; };
  while (end > begin && closing.find(word[end - 1]) != std::string_view::npos && !own()) --end;
  if (begin == end) return CodeSpan(word);
  // What could be a link or its definition goes into the span.
  if (word.substr(0, begin).find("[[") != std::string_view::npos) begin = 0;
  if (word.substr(end).find("]:") != std::string_view::npos) end = word.size();
  return Cat(word.substr(0, begin), CodeSpan(word.substr(begin, end - begin)), word.substr(end));
}

// How many words from `at` on are one quoted line of a log: "..." with a word in it that is not plain. As one
// span it reads as a line, and can be copied. 0: none.
size_t QuotedWords(const std::vector<std::string_view>& words, size_t at) {
  if (!words[at].starts_with('"')) return 0;
  constexpr size_t kWordsMax = 64;  // a quoted line is cut to less
  bool plain = true;
  for (size_t i = at; i < std::min(words.size(), at + kWordsMax); ++i) {
    std::string_view word = words[i];
    plain = plain && (word.empty() || IsPlain(word));
    while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
    if (word.ends_with('"') && (i > at || word.size() > 1)) return plain ? 0 : i - at + 1;
  }
  return 0;
}

std::string Prose(const std::string& text) {
  std::string out;
  const std::string printable = Printable(text);
  const std::vector<std::string_view> words = Split(printable, ' ');
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    if (!out.empty()) out += ' ';
    const size_t quoted = QuotedWords(words, i);
    if (quoted == 0) {
      out += SafeWord(words[i], out.empty());
      continue;
    }
    const std::string_view last = words[i + quoted - 1];
    const char* const begin = words[i].data() + 1;
    const std::string_view all(begin, static_cast<size_t>(last.data() + last.size() - begin));
    const size_t close = all.rfind('"');
    const std::string_view line = all.substr(0, close);
    out += line.empty() ? "\"\"" : Cat('"', CodeSpan(line), '"');
    out += all.substr(close + 1);
    i += quoted - 1;
  }
  return out;
}

std::string Fence(const DocumentBlock& block, std::string_view language, bool cut) {
  std::string body;
  for (size_t i = 0; i < block.lines.size(); ++i) {
    body += Cat(cut ? ShownLine(block, i, kLogColumns) : Printable(block.lines[i]), '\n');
  }
  const std::string ticks(std::max<size_t>(3, LongestTickRun(body) + 1), '`');
  return Cat(ticks, language, '\n', body, ticks, '\n');
}

std::string Items(const DocumentBlock& block) {
  std::string out;
  size_t number = 0;
  for (const std::string& line : block.lines) {
    const std::string mark = block.kind == BlockKind::kNumbered ? Cat(++number, ". ") : "- ";
    out += Cat(mark, Prose(line), '\n');
  }
  return out;
}

std::string Paragraphs(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += Cat(out.empty() ? "" : "\n", Prose(line), '\n');
  return out;
}

std::string Render(const DocumentBlock& block, bool full) {
  switch (block.kind) {
    case BlockKind::kProse:
      return Paragraphs(block.lines);
    case BlockKind::kListed:
    case BlockKind::kNumbered:
      return Items(block);
    case BlockKind::kPlace:
      return Paragraphs(block.lines);
    case BlockKind::kLog:
      return Fence(block, "text", !full);
    case BlockKind::kCommand:
      return Fence(block, "sh", false);
  }
  return "";
}

}  // namespace

std::string RenderMarkdown(const v1::Report& report, const RenderOptions& options) {
  const Document document = DocumentOf(report, {options.full, options.explain});
  std::string out = Cat("## ", Prose(document.verdict), '\n');
  for (const DocumentSection& section : document.sections) {
    out += Cat("\n### ", section.title, '\n');
    for (const DocumentBlock& block : section.blocks) out += Cat('\n', Render(block, options.full));
  }
  return Cat(out, '\n', Prose(document.footer), '\n');
}

}  // namespace firstfault
