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
// Positions between two lookups: as many as there are places for a group in a key. It is the size of a group as
// well, so that a vector of the text is a vector of groups.
constexpr size_t kStride = LiteralFinder::kKeyBytes - kGroupBytes + 1;
static_assert(kStride == kGroupBytes && kGroupBytes == sizeof(uint32_t));
// 64 KiB of table: many times the groups of the catalogue; what healthy text touches of it stays near.
constexpr int kHashBits = 16;
// Lookups look past the case of letters; a few more bytes are alike to them.
constexpr uint64_t kFold = 0x2020202020202020;
constexpr uint64_t kKeyMask = (uint64_t{1} << (8 * LiteralFinder::kKeyBytes)) - 1;
// Of a multiplicative hash: a multiplier of MurmurHash3's. Its bits are mixed enough that no compiler makes a
// chain of shifts of it, which is slower than the multiplication of a vector.
constexpr uint32_t kMultiplier = 0xC2B2AE35;

// Lookups are made in blocks of a vector, which every 64-bit machine has in this size.
using Groups = uint32_t __attribute__((vector_size(16)));
constexpr size_t kBlockBytes = sizeof(Groups);
// The load of the last key that may begin in a block reaches this far.
constexpr size_t kBlockReach = kBlockBytes + sizeof(uint64_t);
// Blocks between two looks at what they found.
constexpr size_t kBlocksMax = 256;

uint32_t FoldedGroup(const char* at) {
  uint32_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes | static_cast<uint32_t>(kFold);
}

// Reads a byte more than the key has.
uint64_t FoldedKey(const char* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return (bytes | kFold) & kKeyMask;
}

// Of a byte among 32 sets of bytes.
uint32_t Bit(char c) { return uint32_t{1} << (static_cast<unsigned char>(c) & 31); }

uint32_t Hash(uint32_t group) { return group * kMultiplier >> (32 - kHashBits); }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

LiteralFinder::LiteralFinder(std::vector<Literal> literals)
    : literals_(std::move(literals)), taken_(size_t{1} << kHashBits), slot_of_(taken_.size()) {
  std::map<uint64_t, uint32_t> known;
  for (uint32_t i = 0; i < literals_.size(); ++i) {
    const auto& [text, key] = literals_[i];
    FF_CHECK(key + kKeyBytes <= text.size());
    const char* const begin = text.data() + key;  // the zero behind a string is the byte behind the last key
    const auto [it, fresh] = known.try_emplace(FoldedKey(begin), static_cast<uint32_t>(keys_.size()));
    if (fresh) {
      keys_.push_back({it->first, {}});
      for (uint32_t at = 0; at < kStride; ++at) candidates_.push_back({it->first, at, it->second, Hash(FoldedGroup(begin + at))});
    }
    keys_[it->second].literals.push_back(i);
  }
  FF_CHECK(candidates_.size() <= UINT16_MAX);
  std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) { return a.hash < b.hash; });
  for (uint32_t i = 0; i < candidates_.size(); ++i) {
    const auto& [bytes, at, key, hash] = candidates_[i];
    if (!taken_[hash]) {
      taken_[hash] = 1;
      slot_of_[hash] = static_cast<uint16_t>(slots_.size());
      slots_.push_back({0, 0, i, 0});
    }
    Slot& slot = slots_[slot_of_[hash]];
    ++slot.count;
    const auto byte = [&bytes = bytes](size_t place) { return static_cast<char>(bytes >> (8 * place)); };
    if (at + kGroupBytes < kKeyBytes) {
      slot.behind |= Bit(byte(at + kGroupBytes));
    } else {
      slot.before |= Bit(byte(at - 1));
    }
  }
}

void LiteralFinder::Confirm(std::string_view text, size_t at, const Candidate& candidate, std::vector<Hit>* hits) const {
  for (const uint32_t index : keys_[candidate.key].literals) {
    const Literal& literal = literals_[index];
    if (at < candidate.at + literal.key) continue;
    const size_t begin = at - candidate.at - literal.key;
    const std::string_view found = text.substr(begin, literal.text.size());
    const auto same = [](char a, char b) { return Lower(a) == b; };
    if (std::equal(found.begin(), found.end(), literal.text.begin(), literal.text.end(), same)) {
      hits->push_back({begin + literal.text.size(), index});
    }
  }
}

void LiteralFinder::LookUp(std::string_view text, size_t at, std::vector<Hit>* hits) const {
  const uint32_t hash = Hash(FoldedGroup(text.data() + at));
  if (!taken_[hash]) return;
  const Slot& slot = slots_[slot_of_[hash]];
  for (uint32_t i = 0; i < slot.count; ++i) Confirm(text, at, candidates_[slot.first + i], hits);
}

void LiteralFinder::Find(std::string_view text, std::vector<Hit>* hits) const {
  FF_CHECK(text.size() <= UINT32_MAX);
  const size_t first = hits->size();
  const char* const bytes = text.data();
  const uint8_t* const taken = taken_.data();
  std::array<uint32_t, kBlocksMax> blocks;
  std::array<uint32_t, kBlocksMax * kBlockBytes / kStride> places;
  struct Likely {
    uint32_t place;
    const Slot* slot;
  };
  std::array<Likely, places.size()> likely;
  size_t at = 0;
  // A key may begin before its group: the first block is left to the plain way.
  for (; at + kGroupBytes <= text.size() && at < kBlockBytes; at += kStride) LookUp(text, at, hits);
  while (at + kBlockReach <= text.size()) {
    const size_t stop = std::min(text.size() - kBlockReach + 1, at + kBlockBytes * kBlocksMax);
    // As few branches as can be depend on the text: a wrong guess costs more than many lookups.
    size_t block_count = 0;
    for (; at < stop; at += kBlockBytes) {
      Groups groups;
      std::memcpy(&groups, bytes + at, sizeof groups);
      groups = (groups | static_cast<uint32_t>(kFold)) * kMultiplier >> (32 - kHashBits);
      blocks[block_count] = static_cast<uint32_t>(at);
      block_count += taken[groups[0]] | taken[groups[1]] | taken[groups[2]] | taken[groups[3]];
    }
    size_t place_count = 0;
    for (size_t i = 0; i < block_count; ++i) {
      for (uint32_t place = blocks[i]; place < blocks[i] + kBlockBytes; place += kStride) {
        places[place_count] = place;
        place_count += taken[Hash(FoldedGroup(bytes + place))];
      }
    }
    size_t likely_count = 0;
    for (size_t i = 0; i < place_count; ++i) {
      const char* const group = bytes + places[i];
      const Slot* const slot = &slots_[slot_of_[Hash(FoldedGroup(group))]];
      likely[likely_count] = {places[i], slot};
      likely_count += ((slot->behind & Bit(group[kGroupBytes])) | (slot->before & Bit(group[-1]))) != 0;
    }
    for (size_t i = 0; i < likely_count; ++i) {
      const auto [place, slot] = likely[i];
      for (uint32_t k = slot->first; k < slot->first + slot->count; ++k) {
        const Candidate& candidate = candidates_[k];
        if (FoldedKey(bytes + place - candidate.at) == candidate.key_bytes) Confirm(text, place, candidate, hits);
      }
    }
  }
  for (; at + kGroupBytes <= text.size(); at += kStride) LookUp(text, at, hits);
  // Found in the order of their groups: literals that overlap may have changed places.
  std::sort(hits->begin() + static_cast<std::ptrdiff_t>(first), hits->end(),
            [](const Hit& a, const Hit& b) { return std::make_pair(a.end, a.literal) < std::make_pair(b.end, b.literal); });
}

}  // namespace firstfault
