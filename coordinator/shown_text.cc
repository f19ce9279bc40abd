#include "coordinator/shown_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "correlate/text.h"

namespace firstfault {
namespace {

struct Range {
  uint32_t first, last;
};

// Not to be seen, or able to reorder what is: C1 controls (one of them starts an escape sequence), soft
// hyphen, zero-width characters, line and paragraph separators, direction overrides, language tags.
constexpr Range kHidden[] = {{0x80, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},   {0x180E, 0x180E},
                             {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                             {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
// Combining marks and variation selectors take no column.
constexpr Range kNarrow[] = {
    {0x300, 0x36F}, {0x483, 0x489}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
// East Asian wide characters and emoji take two.
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <size_t N>
bool In(const Range (&ranges)[N], uint32_t code_point) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](Range range) { return range.first <= code_point && code_point <= range.last; });
}

struct Character {
  size_t length = 1;
  uint32_t code_point = 0;
  bool valid = false;
};

Character FirstOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return {};
  uint32_t code_point = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  // Overlong forms, surrogates and what is above the last code point are no UTF-8 (RFC 3629).
  const uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool surrogate = 0xD800 <= code_point && code_point <= 0xDFFF;
  if (code_point < least || surrogate || code_point > 0x10FFFF) return {};
  return {length, code_point, true};
}

size_t Width(const Character& character) {
  if (In(kWide, character.code_point)) return 2;
  return In(kNarrow, character.code_point) ? 0 : 1;
}

std::string Spelled(char letter, uint32_t value, size_t digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out(digits, '0');
  for (size_t i = digits; i-- > 0; value >>= 4) out[i] = kDigits[value & 0xF];
  return Cat('\\', letter, out);
}

bool Between(char c, int first, int last) { return c >= first && c <= last; }

// Length of the colour, cursor or character-set sequence that starts with the ESC at the front of `text`; 0
// if it is none of these or does not end. Sequences that carry a payload (titles, links) are none of these.
size_t EscapeLength(std::string_view text) {
  constexpr std::string_view kPayload = "]PX^_";
  size_t at = 1;
  if (at >= text.size() || kPayload.find(text[at]) != std::string_view::npos) return 0;
  const bool csi = text[at] == '[';
  at += csi;
  while (csi && at < text.size() && Between(text[at], 0x30, 0x3F)) ++at;
  while (at < text.size() && Between(text[at], 0x20, 0x2F)) ++at;
  return at < text.size() && Between(text[at], csi ? 0x40 : 0x30, 0x7E) ? at + 1 : 0;
}

constexpr std::string_view kGap = "...";

// The longest start of `text` that fits, in bytes; characters are not cut.
size_t BytesThatFit(std::string_view text, size_t columns) {
  size_t at = 0, used = 0;
  while (at < text.size()) {
    const Character next = FirstOf(text.substr(at));
    used += Width(next);
    if (used > columns) break;
    at += next.length;
  }
  return at;
}

// A cut inside a word makes another word of it (4.52 GiB would read .52 GiB): back to the blank before it, unless
// the word is most of what is kept.
std::string_view WholeWordsOfFront(std::string_view front) {
  const size_t blank = front.rfind(' ');
  return blank == std::string_view::npos || blank < front.size() / 2 ? front : front.substr(0, blank + 1);
}

std::string_view WholeWordsOfBack(std::string_view back) {
  const size_t blank = back.find(' ');
  return blank == std::string_view::npos || blank > back.size() / 2 ? back : back.substr(blank);
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = FirstOf(text);
    const char c = text.front();
    size_t taken = next.length;
    if (!next.valid) {
      out += Spelled('x', static_cast<uint8_t>(c), 2);
    } else if (c == '\t') {
      out += "    ";
    } else if (const size_t escape = c == '\x1b' ? EscapeLength(text) : 0; escape > 0) {
      taken = escape;
    } else if (next.code_point < 0x20 || next.code_point == 0x7F) {
      out += Spelled('x', next.code_point, 2);
    } else if (In(kHidden, next.code_point)) {
      out += next.code_point > 0xFFFF ? Spelled('U', next.code_point, 8) : Spelled('u', next.code_point, 4);
    } else {
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

size_t Columns(std::string_view printable) {
  size_t columns = 0;
  while (!printable.empty()) {
    const Character next = FirstOf(printable);
    columns += Width(next);
    printable.remove_prefix(next.length);
  }
  return columns;
}

std::string CutMiddle(std::string_view printable, size_t columns) {
  const size_t whole = Columns(printable);
  if (whole <= columns) return std::string(printable);
  const size_t kept = columns > kGap.size() ? columns - kGap.size() : 0;
  const std::string_view front = printable.substr(0, BytesThatFit(printable, kept - kept / 2));
  // What is left out, so that at most kept / 2 columns stay. Where a wide character straddles the cut it
  // goes.
  size_t skipped = 0, at = 0;
  while (at < printable.size() && whole - skipped > kept / 2) {
    const Character next = FirstOf(printable.substr(at));
    skipped += Width(next);
    at += next.length;
  }
  return Cat(WholeWordsOfFront(front), kGap, WholeWordsOfBack(printable.substr(at)));
}

std::string CutAround(std::string_view before, std::string_view kept, std::string_view after, size_t columns) {
  const size_t front = Columns(before), middle = Columns(kept), back = Columns(after);
  if (kept.empty() || front + middle + back <= columns) return CutMiddle(Cat(before, kept, after), columns);
  if (middle + 2 * kGap.size() > columns) return CutMiddle(kept, columns);
  // Both sides share what is left; what one does not need goes to the other.
  const size_t room = columns - middle;
  const size_t front_room = std::min(front, std::max(room / 2, room - std::min(room, back)));
  const size_t back_room = room - front_room;
  const std::string tail = back <= back_room ? std::string(after)
                                             : Cat(WholeWordsOfFront(after.substr(0, BytesThatFit(after, back_room - kGap.size()))), kGap);
  return Cat(CutMiddle(before, front_room), kept, tail);
}

std::string Wrap(std::string_view printable, size_t columns, std::string_view indent) {
  std::string out;
  size_t used = indent.size();
  for (const std::string_view word : Split(printable, ' ')) {
    if (word.empty()) continue;
    const size_t width = Columns(word);
    const bool first = used == indent.size();
    if (!first && used + 1 + width > columns) {
      out += Cat('\n', indent);
      used = indent.size();
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
  }
  return out;
}

}  // namespace firstfault
