#include "coordinator/archive_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "correlate/check.h"

namespace firstfault {
namespace {

constexpr char kZeros[4096] = {};

archive* NewArchive() {
  archive* a = archive_read_new();
  FF_CHECK(a != nullptr);
  archive_read_support_format_empty(a);
  archive_read_support_format_tar(a);
  archive_read_support_format_zip(a);
  archive_read_set_option(a, "tar", "read_concatenated_archives", "1");
  return a;
}

// A warning (a name in another character set) leaves the member readable.
bool Readable(int result) { return result == ARCHIVE_OK || result == ARCHIVE_WARN; }

}  // namespace

ArchiveStream::ArchiveStream(int fd) : archive_(NewArchive()) {
  lseek(fd, 0, SEEK_SET);
  const int result = archive_read_open_fd(archive_, fd, kReadChunkBytes);
  if (!Readable(result)) Fail(result);
}

ArchiveStream::ArchiveStream(ByteStream* packed) : archive_(NewArchive()), packed_(packed) {
  const int result = archive_read_open(archive_, this, nullptr, ReadPacked, nullptr);
  if (!Readable(result)) Fail(result);
}

ArchiveStream::~ArchiveStream() { archive_read_free(archive_); }

// Holes of the packed bytes are zeros to libarchive, which then finds the damage.
ssize_t ArchiveStream::ReadPacked(archive*, void* self, const void** bytes) {
  auto* stream = static_cast<ArchiveStream*>(self);
  Block& block = stream->pending_;
  while (block.hole == 0 && block.bytes.empty()) {
    if (!stream->packed_->Next(&block)) return 0;
  }
  if (block.hole > 0) {
    const size_t zeros = std::min<uint64_t>(block.hole, sizeof(kZeros));
    block.hole -= zeros;
    *bytes = kZeros;
    return static_cast<ssize_t>(zeros);
  }
  const std::string_view given = std::exchange(block.bytes, {});
  *bytes = given.data();
  return static_cast<ssize_t>(given.size());
}

void ArchiveStream::Fail(int result) {
  broken_ = result == ARCHIVE_FATAL;
  if (packed_ != nullptr && packed_->failure()) {
    failure_ = packed_->failure();
    return;
  }
  const char* words = archive_error_string(archive_);
  failure_ = ReadFailure{Trouble::kDamaged, words != nullptr ? words : ""};
}

bool ArchiveStream::NextMember(Member* next) {
  if (in_member_) failure_.reset();  // it was the member's
  in_member_ = false;
  if (broken_) return false;
  position_ = 0;
  int result;
  do {
    result = archive_read_next_header(archive_, &entry_);
  } while (result == ARCHIVE_RETRY);
  if (result == ARCHIVE_EOF) {
    if (packed_ != nullptr) failure_ = packed_->failure();
    return false;
  }
  if (!Readable(result)) {
    Fail(result);
    return false;
  }
  in_member_ = true;
  Member member;
  // In the C locale only one of the two forms of a name exists.
  const char* name = archive_entry_pathname_utf8(entry_);
  if (name == nullptr) name = archive_entry_pathname(entry_);
  member.name = name != nullptr ? name : "unnamed";
  member.is_file = archive_entry_filetype(entry_) == AE_IFREG && archive_entry_hardlink(entry_) == nullptr;
  member.is_encrypted = archive_entry_is_encrypted(entry_) != 0;
  if (archive_entry_mtime_is_set(entry_)) {
    member.modified_ns =
        int64_t{archive_entry_mtime(entry_)} * 1'000'000'000 + archive_entry_mtime_nsec(entry_);
  }
  *next = std::move(member);
  return true;
}

bool ArchiveStream::Next(Block* block) {
  if (failure_) return false;
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  int result;
  do {
    result = archive_read_data_block(archive_, &data, &size, &offset);
  } while (result == ARCHIVE_RETRY);
  if (result == ARCHIVE_EOF) {
    // A hole at the end of a sparse member has no block.
    const uint64_t end = archive_entry_size_is_set(entry_) ? archive_entry_size(entry_) : 0;
    if (end <= position_) return false;
    *block = Block{end - std::exchange(position_, end), {}};
    return true;
  }
  if (!Readable(result)) {
    Fail(result);
    return false;
  }
  if (result == ARCHIVE_WARN) Fail(result);  // a wrong checksum, told with the last block
  const uint64_t start = std::max(position_, static_cast<uint64_t>(offset));
  *block = Block{start - position_, std::string_view(static_cast<const char*>(data), size)};
  position_ = start + size;
  return true;
}

}  // namespace firstfault
