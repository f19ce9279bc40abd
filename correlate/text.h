// text.h: small text helpers over std types (Debian's Abseil has a string_view of its own, which does not
// mix with std::string_view).
//
// Threads: pure functions.
#ifndef FIRSTFAULT_CORRELATE_TEXT_H_
#define FIRSTFAULT_CORRELATE_TEXT_H_

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace firstfault {

namespace internal {
inline void AppendPart(std::string* out, std::string_view part) { out->append(part); }
inline void AppendPart(std::string* out, char part) { out->push_back(part); }
template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
void AppendPart(std::string* out, Number part) {
  out->append(std::to_string(part));
}
}  // namespace internal

// Joins strings, characters and numbers: Cat("rank ", 3, ": ", text).
template <typename... Parts>
std::string Cat(const Parts&... parts) {
  std::string out;
  (internal::AppendPart(&out, parts), ...);
  return out;
}

// "1 rank", "2 ranks".
inline std::string Counted(uint64_t count, std::string_view noun) { return Cat(count, ' ', noun, count == 1 ? "" : "s"); }

// Decimal with a fixed number of digits, whatever the locale.
inline std::string Fixed(double value, int digits) {
  std::array<char, 64> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits);
  return error == std::errc() ? std::string(buffer.data(), end) : "?";
}

// The whole text as a decimal number; nullopt for anything else, sign and overflow included.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Values and the words for them, of a closed set.
template <typename Enum, size_t N>
using WordTable = std::array<std::pair<Enum, std::string_view>, N>;

template <typename Table, typename Enum>
constexpr std::string_view WordIn(const Table& table, Enum value) {
  for (const auto& [key, word] : table) {
    if (key == value) return word;
  }
  return "";
}

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Without leading and trailing blanks, tabs and carriage returns.
inline std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\r')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// The pieces between separators, empty ones included. Views into `text`.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == separator) {
      out.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  return out;
}

// The lines of a text in which every line has its newline.
inline std::vector<std::string_view> Lines(std::string_view text) {
  if (text.empty()) return {};
  return Split(text.substr(0, text.size() - 1), '\n');
}

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_TEXT_H_
