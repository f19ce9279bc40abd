#include "agent/log_tail.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <utility>

#include "correlate/text.h"
#include "proto/fail_point.h"

namespace firstfault::agent {
namespace {

uint64_t Hash(std::string_view bytes) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

int OpenForReading(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

// nullopt: fewer bytes are there, or none can be read.
std::optional<uint64_t> HashOfHead(int fd, uint64_t bytes) {
  char head[kHeadBytes];
  if (pread(fd, head, bytes, 0) != static_cast<ssize_t>(bytes)) return std::nullopt;
  return Hash({head, bytes});
}

bool HasHead(int fd, const FileId& file) { return HashOfHead(fd, file.head_bytes) == file.head_hash || file.head_bytes == 0; }

bool IsSameInode(const FileId& file, const struct stat& status) {
  return file.inode == status.st_ino && file.device == status.st_dev;
}

// The file of that name, if it has this identity; else -1.
int OpenKnown(const std::string& path, const FileId& file) {
  const int fd = OpenForReading(path);
  if (fd < 0) return -1;
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && IsSameInode(file, status) && HasHead(fd, file)) return fd;
  close(fd);
  return -1;
}

// The file of this identity, wherever in the folder of `path` it was renamed to; -1: not there.
int OpenRenamed(const std::string& path, const FileId& file) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  DIR* const listing = opendir(folder.c_str());
  if (listing == nullptr) return -1;
  int found = -1;
  while (const dirent* entry = readdir(listing)) {
    if (entry->d_ino != file.inode) continue;
    found = OpenKnown(Cat(folder, "/", std::string_view(entry->d_name)), file);
    if (found >= 0) break;
  }
  closedir(listing);
  return found;
}

// File systems that many hosts mount, by the numbers of statfs(2) and of their own headers.
constexpr int64_t kSharedFileSystems[] = {
    0x6969,      // NFS
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x00C36400,  // CephFS
    0x19830326,  // BeeGFS
    0xFE534D42,  // SMB2
    0xFF534D42,  // CIFS
    0x5346414F,  // AFS
    0x01161970,  // GFS2
    0x7461636F,  // OCFS2
};

bool IsShared(const std::string& path) {
  struct statfs system;
  if (statfs(path.c_str(), &system) != 0) return false;
  const auto type = static_cast<int64_t>(static_cast<uint32_t>(system.f_type));
  return std::find(std::begin(kSharedFileSystems), std::end(kSharedFileSystems), type) != std::end(kSharedFileSystems);
}

}  // namespace

LogTail::LogTail(std::vector<std::string> globs, uint32_t next_source)
    : globs_(std::move(globs)), next_source_(next_source), buffer_(kReadBytes, '\0') {}

LogTail::~LogTail() {
  for (const auto& [path, followed] : sources_) {
    if (followed.fd >= 0) close(followed.fd);
  }
}

bool LogTail::Resume(const SourcePosition& position, uint64_t offset, uint64_t end) {
  Followed& followed = sources_[position.path];
  by_number_[position.source] = &followed;
  next_source_ = std::max(next_source_, position.source + 1);
  followed.at = position;
  followed.offset = end;
  if (position.file.inode == 0) return true;
  followed.fd = OpenKnown(position.path, position.file);
  if (followed.fd < 0) followed.fd = OpenRenamed(position.path, position.file);
  struct stat status;
  if (followed.fd >= 0 && fstat(followed.fd, &status) == 0 &&
      static_cast<uint64_t>(status.st_size) >= end - position.file_begin) {
    followed.offset = offset;
    return true;
  }
  if (followed.fd >= 0) close(followed.fd);
  followed.fd = -1;
  ++stats_.lost_files;
  BeginFile(followed, {});
  return false;
}

const SourcePosition* LogTail::PositionOf(uint32_t source) const {
  const auto found = by_number_.find(source);
  return found == by_number_.end() ? nullptr : &found->second->at;
}

uint64_t LogTail::OffsetOf(uint32_t source) const {
  const auto found = by_number_.find(source);
  return found == by_number_.end() ? 0 : found->second->offset;
}

bool LogTail::Poll(int64_t now_ns, TailSink& sink) {
  // Reads first: a copy that a glob shows is known as one once the truncation behind it was seen.
  bool more = false;
  for (auto& [path, followed] : sources_) more |= Read(followed, now_ns, sink);
  if (now_ns >= next_scan_ns_) {
    const size_t before = sources_.size();
    Scan(now_ns, sink);
    next_scan_ns_ = now_ns + kScanEveryNs;
    more |= sources_.size() > before;
  }
  return more;
}

void LogTail::Scan(int64_t now_ns, TailSink& sink) {
  stats_.not_followed = 0;
  for (auto& [path, followed] : sources_) Watch(followed, now_ns);
  for (const std::string& pattern : globs_) {
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) Discover(found.gl_pathv[i], sink);
    }
    globfree(&found);
  }
}

// Whether a file that a glob shows is one that is, or was, read under another name. A copy that was made
// before a truncation is such a file too: its name goes on where the source's ends, with the same beginning.
bool LogTail::IsKnownFile(const std::string& path, const struct stat& status) const {
  const int fd = OpenForReading(path);
  if (fd < 0) return false;
  const auto same = [&](const FileId& file, bool by_name) {
    return (IsSameInode(file, status) || (by_name && file.inode == 0 && file.head_bytes > 0)) && HasHead(fd, file);
  };
  bool known = false;
  for (const auto& [other, followed] : sources_) {
    const bool by_name = path.size() > other.size() && path.starts_with(other);
    known |= same(followed.at.file, false);
    for (const FileId& file : followed.at.earlier) known |= same(file, by_name);
  }
  close(fd);
  return known;
}

void LogTail::Discover(const std::string& path, TailSink& sink) {
  if (sources_.contains(path)) return;
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return;
  if (!S_ISREG(status.st_mode) || sources_.size() >= kSourcesMax) {
    ++stats_.not_followed;
    return;
  }
  if (IsKnownFile(path, status)) return;
  Followed& followed = sources_[path];
  followed.at.source = next_source_++;
  followed.at.path = path;
  followed.at.shared = IsShared(path);
  by_number_[followed.at.source] = &followed;
  sink.Opened(followed.at.source, path, followed.at.shared);
}

// Notices that a path names another file than the one that is open.
void LogTail::Watch(Followed& followed, int64_t now_ns) {
  if (followed.fd < 0) return;
  struct stat status;
  const bool replaced = stat(followed.at.path.c_str(), &status) != 0 || !IsSameInode(followed.at.file, status);
  if (replaced && !followed.replaced) followed.grew_ns = now_ns;
  followed.replaced = replaced;
}

bool LogTail::Open(Followed& followed) {
  followed.fd = OpenForReading(followed.at.path);
  if (followed.fd < 0) {
    stats_.read_errors += errno != ENOENT;
    return false;
  }
  struct stat status;
  if (fstat(followed.fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(followed.fd);
    followed.fd = -1;
    return false;
  }
  // After a stale handle it may be the file that was read before.
  if (!IsSameInode(followed.at.file, status) || !HasHead(followed.fd, followed.at.file)) {
    BeginFile(followed, {status.st_dev, status.st_ino, 0, 0});
  }
  followed.replaced = false;
  return true;
}

void LogTail::NoteHead(Followed& followed) {
  FileId& file = followed.at.file;
  const uint64_t bytes = std::min<uint64_t>(kHeadBytes, followed.offset - followed.at.file_begin);
  if (bytes <= file.head_bytes) return;
  if (const auto hash = HashOfHead(followed.fd, bytes)) {
    file.head_bytes = bytes;
    file.head_hash = *hash;
  }
}

void LogTail::Leave(Followed& followed, TailSink& sink) {
  close(followed.fd);
  followed.fd = -1;
  FailPoint("rotate");
  ++stats_.rotations;
  Remember(followed, followed.at.file);
  BeginFile(followed, {});
  sink.FileEnded(followed.at.source);
}

void LogTail::BeginFile(Followed& followed, FileId file) {
  followed.at.file = file;
  followed.at.file_begin = followed.offset;
}

void LogTail::Remember(Followed& followed, FileId file) {
  if (file.head_bytes == 0) return;  // an empty one would look like any
  std::vector<FileId>& earlier = followed.at.earlier;
  earlier.push_back(file);
  if (earlier.size() > kEarlierFilesMax) earlier.erase(earlier.begin());
}

bool LogTail::Read(Followed& followed, int64_t now_ns, TailSink& sink) {
  if (followed.fd < 0 && !Open(followed)) return false;
  struct stat status;
  if (fstat(followed.fd, &status) != 0) return false;
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  const int64_t written_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  // A file that was truncated may have grown to any size since.
  const bool written = std::exchange(followed.written_ns, written_ns) != written_ns;
  if (size < followed.offset - followed.at.file_begin || (written && !HasHead(followed.fd, followed.at.file))) {
    ++stats_.truncations;
    // What was read may live on as a copy with another inode.
    FileId file = followed.at.file;
    Remember(followed, {0, 0, file.head_bytes, file.head_hash});
    BeginFile(followed, {file.device, file.inode, 0, 0});
    sink.FileEnded(followed.at.source);
  }
  for (size_t total = 0; total < kPollBytesMax;) {
    const ssize_t got = pread(followed.fd, buffer_.data(), buffer_.size(),
                              static_cast<off_t>(followed.offset - followed.at.file_begin));
    if (got < 0) {
      if (errno == EINTR) continue;
      ++stats_.read_errors;
      close(followed.fd);  // a stale handle; the path is opened anew at the next poll
      followed.fd = -1;
      return false;
    }
    if (got == 0) {
      if (followed.replaced && now_ns - followed.grew_ns >= kLeaveFileAfterNs) {
        Leave(followed, sink);
        return Open(followed);
      }
      return false;
    }
    const uint64_t at = followed.offset;
    followed.offset += static_cast<uint64_t>(got);
    followed.grew_ns = now_ns;
    total += static_cast<size_t>(got);
    stats_.bytes += static_cast<uint64_t>(got);
    NoteHead(followed);
    sink.Bytes(followed.at.source, at, std::string_view(buffer_).substr(0, static_cast<size_t>(got)));
  }
  return true;
}

}  // namespace firstfault::agent
