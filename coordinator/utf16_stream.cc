#include "coordinator/utf16_stream.h"

#include <utility>

namespace firstfault {
namespace {

using std::string_view_literals::operator""sv;

constexpr uint32_t kMark = 0xFEFF, kReplacement = 0xFFFD;

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto add = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  const auto tail = [&](int shift) { add(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) return add(code_point);
  if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      add(0xE0 | code_point >> 12);
    } else {
      add(0xF0 | code_point >> 18);
      tail(12);
    }
    tail(6);
  }
  tail(0);
}

}  // namespace

bool BeginsAsUtf16(std::string_view head) {
  const bool utf32 = head.starts_with("\xff\xfe\0\0"sv);
  return !utf32 && (head.starts_with("\xff\xfe"sv) || head.starts_with("\xfe\xff"sv));
}

// Half a unit or half a pair can be no character any more.
void Utf16Stream::EndCharacter() {
  const bool half = std::exchange(half_, false), high = std::exchange(high_, 0) != 0;
  if (half || high) AppendUtf8(kReplacement, &text_);
}

void Utf16Stream::TakeUnit(uint32_t unit) {
  if (unit >= 0xDC00 && unit <= 0xDFFF && high_ != 0) {
    return AppendUtf8(0x10000 + ((std::exchange(high_, 0) - 0xD800) << 10) + (unit - 0xDC00), &text_);
  }
  EndCharacter();
  if (unit >= 0xD800 && unit <= 0xDBFF) {
    high_ = unit;
  } else {
    AppendUtf8(unit >= 0xDC00 && unit <= 0xDFFF ? kReplacement : unit, &text_);
  }
}

void Utf16Stream::Take(unsigned char byte) {
  const bool second = offset_++ % 2 == 1;
  if (!second) {
    first_byte_ = byte;
    half_ = true;
    return;
  }
  if (!std::exchange(half_, false)) return;  // its first half was in a hole
  const uint32_t unit = big_endian_ ? first_byte_ << 8 | byte : byte << 8 | first_byte_;
  if (offset_ > 2) return TakeUnit(unit);
  big_endian_ = unit != kMark;
}

bool Utf16Stream::Next(Block* block) {
  text_.clear();
  Block packed;
  while (text_.empty()) {
    if (!inner_->Next(&packed)) {
      failure_ = inner_->failure();
      EndCharacter();
      break;
    }
    if (packed.hole > 0) {
      EndCharacter();
      offset_ += packed.hole;
    }
    for (const char c : packed.bytes) Take(static_cast<unsigned char>(c));
    if (packed.hole > 0) break;
  }
  if (text_.empty() && packed.hole == 0) return false;
  *block = Block{packed.hole, text_};
  return true;
}

}  // namespace firstfault
