#include "correlate/literal_finder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "correlate/check.h"

namespace firstfault {
namespace {

constexpr size_t kGroupBytes = LiteralFinder::kGroupBytes;
// Positions between two lookups: as many as there are places for a group in a key.
constexpr size_t kStride = LiteralFinder::kKeyBytes - kGroupBytes + 1;
// 32 KiB of table: several times the groups of the catalogue, and still near.
constexpr int kHashBits = 15;
// Lookups look past the case of letters; a few more bytes are alike to them.
constexpr uint64_t kFold = 0x2020202020202020;
constexpr uint64_t kKeyMask = (uint64_t{1} << (8 * LiteralFinder::kKeyBytes)) - 1;
// Lookups are made in blocks of two; the loads for them and their keys reach this far.
constexpr size_t kBlockBytes = 2 * kStride, kBlockReach = kStride + sizeof(uint64_t);
// Blocks between two looks at what they found.
constexpr size_t kBlocksMax = 512;

uint64_t Load(const char* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes | kFold;
}

uint32_t FoldedGroup(const char* at) {
  uint32_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes | static_cast<uint32_t>(kFold);
}

uint64_t FoldedKey(const char* at) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, at, LiteralFinder::kKeyBytes);
  return (bytes | kFold) & kKeyMask;
}

// Knuth's multiplicative hash.
uint32_t Hash(uint64_t group) { return static_cast<uint32_t>(group) * 0x9E3779B1u >> (32 - kHashBits); }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

LiteralFinder::LiteralFinder(std::vector<Literal> literals)
    : literals_(std::move(literals)), present_(size_t{1} << kHashBits), slot_of_(present_.size()), slots_(1) {
  std::map<uint64_t, uint32_t> known;
  for (uint32_t i = 0; i < literals_.size(); ++i) {
    const auto& [text, key] = literals_[i];
    FF_CHECK(key + kKeyBytes <= text.size());
    const char* const begin = text.data() + key;
    const auto [it, fresh] = known.try_emplace(FoldedKey(begin), static_cast<uint32_t>(keys_.size()));
    if (fresh) {
      keys_.push_back({it->first, {}});
      for (uint32_t at = 0; at < kStride; ++at) groups_.push_back({FoldedGroup(begin + at), at, it->second});
    }
    keys_[it->second].literals.push_back(i);
  }
  std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
    return std::make_pair(Hash(a.bytes), a.key) < std::make_pair(Hash(b.bytes), b.key);
  });
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    const uint32_t hash = Hash(group.bytes);
    if (present_[hash] == 0) {
      present_[hash] = 1;
      slot_of_[hash] = static_cast<uint16_t>(slots_.size());
      slots_.push_back({keys_[group.key].bytes, group.at, i, i});
    }
    ++slots_.back().end;
  }
  FF_CHECK(slots_.size() <= UINT16_MAX);
}

void LiteralFinder::Check(std::string_view text, size_t at, std::vector<Hit>* hits) const {
  const uint32_t bytes = FoldedGroup(text.data() + at);
  const Slot& slot = slots_[slot_of_[Hash(bytes)]];
  for (uint32_t i = slot.begin; i < slot.end; ++i) {
    const Group& group = groups_[i];
    if (group.bytes != bytes || at < group.at || at - group.at + kKeyBytes > text.size()) continue;
    const Key& key = keys_[group.key];
    const size_t key_at = at - group.at;
    if (FoldedKey(text.data() + key_at) != key.bytes) continue;
    for (const uint32_t index : key.literals) {
      const Literal& literal = literals_[index];
      if (key_at < literal.key) continue;
      const size_t begin = key_at - literal.key;
      const std::string_view found = text.substr(begin, literal.text.size());
      const auto same = [](char a, char b) { return Lower(a) == b; };
      if (std::equal(found.begin(), found.end(), literal.text.begin(), literal.text.end(), same)) {
        hits->push_back({begin + literal.text.size(), index});
      }
    }
  }
}

void LiteralFinder::Find(std::string_view text, std::vector<Hit>* hits) const {
  FF_CHECK(text.size() <= UINT32_MAX);
  const size_t first = hits->size();
  const char* const bytes = text.data();
  const uint8_t* const present = present_.data();
  std::array<uint32_t, kBlocksMax> blocks;
  std::array<uint32_t, 2 * kBlocksMax> places;
  size_t at = 0;
  // A key may begin before its group: the first block is left to the plain way.
  for (; at + kGroupBytes <= text.size() && at < kBlockBytes; at += kStride) Check(text, at, hits);
  while (at + kBlockReach <= text.size()) {
    const size_t stop = std::min(text.size() - kBlockReach + 1, at + kBlockBytes * kBlocksMax);
    // No branch depends on the text: a wrong guess costs more than many lookups.
    size_t count = 0;
    for (; at < stop; at += kBlockBytes) {
      const uint64_t next = Load(bytes + at);
      blocks[count] = static_cast<uint32_t>(at);
      count += present[Hash(next)] | present[Hash(next >> (8 * kStride))];
    }
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) {
      for (uint32_t place = blocks[i]; place < blocks[i] + kBlockBytes; place += kStride) {
        const Slot& slot = slots_[slot_of_[Hash(FoldedGroup(bytes + place))]];
        places[found] = place;
        found += ((Load(bytes + place - slot.at) & kKeyMask) == slot.key) | (slot.end - slot.begin > 1);
      }
    }
    for (size_t i = 0; i < found; ++i) Check(text, places[i], hits);
  }
  for (; at + kGroupBytes <= text.size(); at += kStride) Check(text, at, hits);
  // Found in the order of their groups: literals that overlap may have changed places.
  std::sort(hits->begin() + static_cast<std::ptrdiff_t>(first), hits->end(),
            [](const Hit& a, const Hit& b) { return std::make_pair(a.end, a.literal) < std::make_pair(b.end, b.literal); });
}

}  // namespace firstfault
