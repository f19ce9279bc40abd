#include "coordinator/escape.h"

#include <cstdint>

#include "correlate/text.h"

namespace firstfault {
namespace {

bool IsPlain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '-' || c == '_'; }

std::optional<int> HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  return c >= 'A' && c <= 'F' ? std::optional<int>(c - 'A' + 10) : std::nullopt;
}

}  // namespace

std::string Escaped(std::string_view name) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<uint8_t>(c);
    if (IsPlain(c)) {
      out.push_back(c);
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out.push_back(static_cast<char>(*high << 4 | *low));
    i += 2;
  }
  return Escaped(out) == text ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace firstfault
