// archive_stream.h: unpacks tar and zip archives while they are read.
//
// Why:     logs arrive as logs.tar.zst and bundle.zip; nothing is unpacked to disk.
// Model:   NextMember() steps to a member, Next() gives its bytes. What is compressed as a whole is undone before
//          (compressed_stream.h). Archives that follow each other in one file are one.
// Errors:  failure() is about the last call. A member that cannot be read leaves the others readable, as far
//          as the format allows.
// Threads: one thread.
// Source:  libarchive 3.6, archive_read(3).
#ifndef FIRSTFAULT_COORDINATOR_ARCHIVE_STREAM_H_
#define FIRSTFAULT_COORDINATOR_ARCHIVE_STREAM_H_

#include <memory>
#include <optional>
#include <string>

#include "coordinator/byte_stream.h"

struct archive;
struct archive_entry;

namespace firstfault {

class ArchiveStream : public ByteStream {
 public:
  struct Member {
    std::string name;
    bool is_file = true;
    bool is_encrypted = false;
    std::optional<int64_t> modified_ns;
  };
  // From a file that can be sought, as the table of contents of a zip needs. Does not close `fd`.
  explicit ArchiveStream(int fd);
  // From a stream, which must outlive this.
  explicit ArchiveStream(ByteStream* packed);
  ~ArchiveStream() override;
  ArchiveStream(const ArchiveStream&) = delete;
  ArchiveStream& operator=(const ArchiveStream&) = delete;

  // False: no more members, or a failure(). `member` is then unchanged.
  bool NextMember(Member* member);
  bool Next(Block* block) override;

 private:
  static ssize_t ReadPacked(archive*, void* self, const void** bytes);
  void Fail(int result);

  archive* archive_;
  archive_entry* entry_ = nullptr;
  bool in_member_ = false;
  bool broken_ = false;    // nothing can follow
  uint64_t position_ = 0;  // in the member
  ByteStream* packed_ = nullptr;
  ByteStream::Block pending_;  // packed bytes not yet handed to libarchive
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_ARCHIVE_STREAM_H_
