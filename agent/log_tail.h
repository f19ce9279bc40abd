// log_tail.h: follows the files that match globs, and hands their bytes on, each once and in order.
//
// Why:     logs are rotated, truncated, deleted and made anew while a job writes them; what is lost then is
//          lost just when something happens.
// Model:   a source is a name. Files that follow each other under this name are one run of bytes: its offsets
//          go on counting over rotation (a new file of this name) and truncation (the file begins anew). A
//          file is known by device, inode and its first bytes, since inodes are used again.
// Limits:  files are polled; what is written and truncated between two polls cannot be seen. FIFOs and other
//          files without offsets are not followed: reading them would make the job wait for us.
// Errors:  unreadable files are tried again; problems are counted in TailStats.
// Threads: one thread. Nothing here waits; time is an argument.
#ifndef FIRSTFAULT_AGENT_LOG_TAIL_H_
#define FIRSTFAULT_AGENT_LOG_TAIL_H_

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace firstfault::agent {

// One read. Larger ones gain nothing and cost memory.
inline constexpr size_t kReadBytes = 128 << 10;
// A source's share of one Poll, so that a loud one does not starve the others.
inline constexpr size_t kPollBytesMax = 1 << 20;
// First bytes of a file that tell it from another with its inode: past a common banner, within one read.
inline constexpr size_t kHeadBytes = 256;
// Sources of one agent. Each keeps a file open.
inline constexpr size_t kSourcesMax = 4096;
// Files that a source has left behind and that must not be taken for new ones when a glob shows them: more
// than log rotation commonly keeps.
inline constexpr size_t kEarlierFilesMax = 16;
inline constexpr int64_t kScanEveryNs = 1'000'000'000;
// A writer may go on writing to a file that was renamed: this long without growth is its end.
inline constexpr int64_t kLeaveFileAfterNs = 2'000'000'000;

struct FileId {
  uint64_t device = 0, inode = 0;  // inode 0: no file yet
  uint64_t head_bytes = 0;         // at most kHeadBytes
  uint64_t head_hash = 0;          // of that many first bytes
};

// Where a source stands: what must outlive the agent.
struct SourcePosition {
  uint32_t source = 0;
  std::string path;
  bool shared = false;  // on a network file system
  FileId file;
  uint64_t file_begin = 0;  // offset in the source of the file's first byte
  std::vector<FileId> earlier;
};

struct TailStats {
  uint64_t bytes = 0, rotations = 0, truncations = 0, read_errors = 0;
  uint64_t not_followed = 0;  // more than kSourcesMax, or no regular file
  uint64_t lost_files = 0;    // left unfinished and not found again
};

class TailSink {
 public:
  virtual ~TailSink() = default;
  // `shared`: it lies on a network file system.
  virtual void Opened(uint32_t source, const std::string& path, bool shared) = 0;
  // `bytes` is valid during the call.
  virtual void Bytes(uint32_t source, uint64_t offset, std::string_view bytes) = 0;
  // What comes next is another file of this name.
  virtual void FileEnded(uint32_t source) = 0;
};

class LogTail {
 public:
  // `next_source` numbers the first source that is new.
  explicit LogTail(std::vector<std::string> globs, uint32_t next_source = 1);
  ~LogTail();
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  // Goes on with a source of an earlier run at `offset`, up to `end` of which it had been read. Call before
  // the first Poll. False: that file is gone or was truncated, and the source goes on at `end` with the
  // file that has its name.
  bool Resume(const SourcePosition& position, uint64_t offset, uint64_t end);

  // Reads a bounded share of what is new. True: more is waiting.
  bool Poll(int64_t now_ns, TailSink& sink);
  // The next Poll looks for new files, whenever it last did.
  void LookForFiles() { next_scan_ns_ = INT64_MIN; }

  const SourcePosition* PositionOf(uint32_t source) const;
  uint64_t OffsetOf(uint32_t source) const;
  uint32_t next_source() const { return next_source_; }
  const TailStats& stats() const { return stats_; }

 private:
  struct Followed {
    SourcePosition at;
    uint64_t offset = 0;  // in the source, of the next byte to read
    int fd = -1;
    int64_t written_ns = 0;  // as the file system says
    int64_t grew_ns = 0;
    bool replaced = false;  // the path names another file, or none
  };

  void Scan(int64_t now_ns, TailSink& sink);
  void Discover(const std::string& path, TailSink& sink);
  void Watch(Followed& followed, int64_t now_ns);
  bool Open(Followed& followed);
  bool Read(Followed& followed, int64_t now_ns, TailSink& sink);
  void NoteHead(Followed& followed);
  void Leave(Followed& followed, TailSink& sink);
  static void BeginFile(Followed& followed, FileId file);
  static void Remember(Followed& followed, FileId file);
  bool IsKnownFile(const std::string& path, const struct stat& status) const;

  const std::vector<std::string> globs_;
  uint32_t next_source_;
  int64_t next_scan_ns_ = INT64_MIN;
  std::map<std::string, Followed> sources_;  // by path
  std::map<uint32_t, Followed*> by_number_;
  std::string buffer_;
  TailStats stats_;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_AGENT_LOG_TAIL_H_
