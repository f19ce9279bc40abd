#include "correlate/parse/line.h"

#include <cstring>

namespace firstfault {
namespace {

constexpr char kEscape = '\x1b';

// The end of the terminal escape that begins at `at`: CSI and OSC sequences, else two bytes.
size_t EscapeEnd(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return text.size();
  const char kind = text[at + 1];
  size_t i = at + 2;
  if (kind == '[') {
    while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    return i < text.size() ? i + 1 : i;
  }
  if (kind == ']') {
    while (i < text.size() && text[i] != '\a' && text[i] != kEscape) ++i;
    return i < text.size() && text[i] == '\a' ? i + 1 : i;
  }
  return i;
}

std::string_view WithoutFinalReturns(std::string_view text) {
  while (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

}  // namespace

bool NeedsCleaning(std::string_view raw) {
  const std::string_view text = WithoutFinalReturns(raw);
  return text.size() != raw.size() || memchr(text.data(), kEscape, text.size()) != nullptr ||
         memchr(text.data(), '\r', text.size()) != nullptr || memchr(text.data(), '\0', text.size()) != nullptr;
}

std::string CleanLine(std::string_view raw) {
  std::string_view text = WithoutFinalReturns(raw);
  const size_t redraw = text.rfind('\r');
  if (redraw != std::string_view::npos) text.remove_prefix(redraw + 1);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == kEscape) {
      i = EscapeEnd(text, i);
    } else {
      if (text[i] != '\0') out.push_back(text[i]);
      ++i;
    }
  }
  return out;
}

SourceLine::SourceLine(uint64_t offset_in, std::string_view raw_in, const PrefixHabits& habits)
    : offset(offset_in), raw(raw_in), text(raw_in) {
  if (NeedsCleaning(raw)) {
    storage = CleanLine(raw);
    text = storage;
  }
  peeled = Peel(text, habits);
}

WriterKey WriterOf(const Prefix& prefix) {
  WriterKey key;
  key.rank = prefix.rank;
  if (!key.rank) key.local_rank = prefix.local_rank;
  if (!key.rank && !key.local_rank) key.task = prefix.task;
  if (!key.rank && !key.local_rank && !key.task) key.pid = prefix.pid;
  return key;
}

}  // namespace firstfault
