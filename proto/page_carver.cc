#include "proto/page_carver.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <vector>

namespace firstfault {
namespace {

constexpr size_t kPage = kLogPageBytes;
constexpr size_t kFileHeader = 100, kWalHeader = 32, kFrameHeader = 24, kLeafHeader = 8;
constexpr uint8_t kTableLeaf = 0x0d;

using Page = std::array<char, kPage>;

uint32_t Big(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Takes a variable-length integer off the front.
std::optional<uint64_t> TakeVarint(std::string_view* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 9; ++i) {
    if (bytes->empty()) return std::nullopt;
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (i == 8) return value << 8 | byte;
    value = value << 7 | (byte & 0x7f);
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Where pages stand: in one of the two files, at an offset. Pages are read one by one, so that memory does not
// depend on the size of the log.
class Pages {
 public:
  explicit Pages(const std::string& path) : files_{std::ifstream(path, std::ios::binary), std::ifstream(path + "-wal", std::ios::binary)} {
    const uint64_t bytes = Size(0);
    for (uint64_t at = 0; at + kPage <= bytes; at += kPage) places_.push_back({0, at});
    ReadWal();
  }

  size_t count() const { return places_.size(); }
  // `number` counts from 0.
  bool Read(uint64_t number, Page* page) {
    if (number >= places_.size()) return false;
    return ReadAt(places_[number].file, places_[number].offset, page->data(), kPage);
  }

 private:
  struct Place {
    size_t file;
    uint64_t offset;
  };

  uint64_t Size(size_t file) {
    if (!files_[file].seekg(0, std::ios::end)) return 0;
    return static_cast<uint64_t>(files_[file].tellg());
  }

  bool ReadAt(size_t file, uint64_t offset, char* to, size_t bytes) {
    files_[file].clear();
    files_[file].seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(files_[file].read(to, static_cast<std::streamsize>(bytes)));
  }

  // The newest committed frame of a page replaces it. Frames of an older use of the log have another salt; it
  // stands in the log's header and in each frame, so one damaged copy does no harm.
  void ReadWal() {
    const uint64_t bytes = Size(1);
    char header[kWalHeader];
    if (bytes < kWalHeader || !ReadAt(1, 0, header, kWalHeader)) return;
    const std::string header_salt(header + 16, 8);
    std::string first_salt;
    std::vector<std::pair<uint32_t, Place>> frames;
    size_t committed = 0;
    for (uint64_t at = kWalHeader; at + kFrameHeader + kPage <= bytes; at += kFrameHeader + kPage) {
      char frame[kFrameHeader];
      if (!ReadAt(1, at, frame, kFrameHeader)) break;
      const std::string salt(frame + 8, 8);
      if (first_salt.empty()) first_salt = salt;
      if (salt != header_salt && salt != first_salt) continue;
      const std::string_view view(frame, kFrameHeader);
      frames.push_back({Big(view, 0, 4), {1, at + kFrameHeader}});
      if (Big(view, 4, 4) != 0) committed = frames.size();
    }
    frames.resize(committed);
    // A damaged page number must not make the list huge.
    const size_t pages_max = places_.size() + frames.size();
    for (const auto& [number, place] : frames) {
      if (number == 0 || number > pages_max) continue;
      if (places_.size() < number) places_.resize(number, Place{0, UINT32_MAX * uint64_t{kPage}});
      places_[number - 1] = place;
    }
  }

  std::array<std::ifstream, 2> files_;  // the database, its write-ahead log
  std::vector<Place> places_;
};

class Carver {
 public:
  Carver(const std::string& path, const std::function<void(uint64_t, std::string_view)>& row) : pages_(path), row_(row) {}

  void Run() {
    for (size_t number = 0; number < pages_.count(); ++number) {
      if (pages_.Read(number, &page_)) Leaf(number == 0 ? kFileHeader : 0);
    }
  }

 private:
  void Leaf(size_t header) {
    const std::string_view page(page_.data(), kPage);
    if (static_cast<uint8_t>(page[header]) != kTableLeaf) return;
    const size_t cells_max = (kPage - header - kLeafHeader) / 2;
    const size_t cells = std::min<size_t>(Big(page, header + 3, 2), cells_max);
    for (size_t i = 0; i < cells; ++i) {
      const size_t at = Big(page, header + kLeafHeader + 2 * i, 2);
      if (at < kPage) Cell(page.substr(at));
    }
  }

  void Cell(std::string_view cell) {
    const auto size = TakeVarint(&cell);
    const auto key = TakeVarint(&cell);
    if (!size || !key || *size > pages_.count() * kPage) return;
    constexpr size_t kLocalMax = kPage - 35, kLocalMin = (kPage - 12) * 32 / 255 - 23;
    size_t local = *size;
    if (*size > kLocalMax) {
      local = kLocalMin + (*size - kLocalMin) % (kPage - 4);
      if (local > kLocalMax) local = kLocalMin;
    }
    if (local > cell.size()) return;
    record_.assign(cell.substr(0, local));
    if (local < *size) {
      if (cell.size() < local + 4) return;
      if (!Overflow(Big(cell, local, 4), *size)) return;
    }
    Record(*key);
  }

  bool Overflow(uint32_t number, uint64_t size) {
    while (record_.size() < size) {  // each turn adds bytes, so a chain that runs in a circle ends
      if (number == 0 || !pages_.Read(number - 1, &overflow_)) return false;
      const std::string_view page(overflow_.data(), kPage);
      record_.append(page.substr(4, size - record_.size()));
      number = Big(page, 0, 4);
    }
    return true;
  }

  void Record(uint64_t key) {
    std::string_view rest = record_;
    const auto header = TakeVarint(&rest);
    if (!header || *header > record_.size() || *header < record_.size() - rest.size()) return;
    std::string_view types = std::string_view(record_).substr(record_.size() - rest.size(), *header - (record_.size() - rest.size()));
    uint64_t type = 0;
    while (!types.empty()) {
      const auto next = TakeVarint(&types);
      if (!next) return;
      type = *next;
    }
    if (type < 12) return;  // numbers and nothing
    const uint64_t bytes = (type - 12) / 2;
    if (bytes > record_.size() - *header) return;
    row_(key, std::string_view(record_).substr(record_.size() - bytes));
  }

  Pages pages_;
  const std::function<void(uint64_t, std::string_view)>& row_;
  Page page_, overflow_;
  std::string record_;
};

}  // namespace

void CarveRows(const std::string& path, const std::function<void(uint64_t key, std::string_view bytes)>& row) {
  Carver(path, row).Run();
}

}  // namespace firstfault
