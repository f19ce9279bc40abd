#include "coordinator/source_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "coordinator/archive_stream.h"
#include "coordinator/byte_stream.h"
#include "coordinator/compressed_stream.h"
#include "coordinator/content_kind.h"
#include "coordinator/decode.h"
#include "coordinator/path_walk.h"
#include "coordinator/read_problems.h"
#include "coordinator/source_names.h"
#include "coordinator/utf16_stream.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Which wrappings were taken off: none, a file's compression, an archive's, that of a member too.
enum class Layer : uint8_t { kFile, kOpened, kMember, kUnpacked, kCount };

// One thing to read, before it is known what it is.
struct Item {
  std::string path;
  std::optional<int64_t> modified_ns;
  int fd = -1;         // where it is a file that can be sought
  bool named = false;  // by the user
  Layer layer = Layer::kFile;
};

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ > STDIN_FILENO) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Stops what unpacks without end.
class LimitedStream : public ByteStream {
 public:
  LimitedStream(ByteStream* inner, uint64_t bytes_max)
      : inner_(inner), bytes_left_(bytes_max), max_(bytes_max) {}
  bool Next(Block* block) override {
    const bool more = inner_->Next(block);
    failure_ = inner_->failure();
    if (!more) return false;
    const uint64_t size = block->hole + block->bytes.size();
    if (size > bytes_left_) {
      failure_ = ReadFailure{Trouble::kTooManyBytes, Cat(max_, " bytes")};
      return false;
    }
    bytes_left_ -= size;
    return true;
  }

 private:
  ByteStream* inner_;
  uint64_t bytes_left_;
  uint64_t max_;
};

bool HasPart(std::string_view path, bool (*is)(std::string_view)) {
  const std::vector<std::string_view> parts = Split(path, '/');
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return part != "." && part != ".." && is(part); });
}

std::string MemberPath(const std::string& archive, std::string_view name) {
  // Nothing is written anywhere: a name that leads out of the archive is only a name.
  for (const std::string_view out : {"./", "../", "/"}) {
    while (name.starts_with(out)) name.remove_prefix(out.size());
  }
  return Cat(archive, "/", name);
}

// Reads the table of contents only.
bool HoldsCheckpoint(int fd, int64_t members_max) {
  ArchiveStream zip(fd);
  ArchiveStream::Member member;
  for (int64_t i = 0; i < members_max && zip.NextMember(&member); ++i) {
    if (IsCheckpointMember(member.name)) return true;
  }
  return false;
}

// Names are told by the text, not by its wrapping.
std::string DecodedHead(std::string_view head) {
  std::string text;
  DecoderFor(head)->Feed(head, &text);
  return text;
}

class Reader {
 public:
  Reader(const ReadOptions& options, SourceVisitor* visitor) : options_(options), visitor_(visitor) {}

  ReadSummary Read(const std::vector<std::string>& paths) && {
    const InputFiles input = CollectInputFiles(paths, &problems_);
    summary_.duplicates = input.duplicates;
    summary_.not_logs = input.not_logs;
    for (const InputFile& file : input.files) ReadFile(file);
    summary_.problems = problems_.Sentences();
    summary_.broken_off = problems_.broken_off();
    return std::move(summary_);
  }

 private:
  void ReadFile(const InputFile& file) {
    if (file.path == "-") {
      PipeStream stream(STDIN_FILENO, &buffer_);
      return ReadItem(&stream, Item{"stdin", std::nullopt, -1, true});
    }
    // What was a file when it was listed may be a pipe by now; opening that must not wait for a writer.
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (file.is_stream ? 0 : O_NONBLOCK);
    const Fd fd(open(file.path.c_str(), flags));
    struct stat st;
    if (fd.get() < 0 || fstat(fd.get(), &st) != 0) {
      return problems_.Add(Trouble::kCannotOpen, file.path, std::strerror(errno));
    }
    Item item{file.path, std::nullopt, -1, file.named};
    item.modified_ns = int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
    if (!S_ISREG(st.st_mode)) {
      if (!file.is_stream) return problems_.Add(Trouble::kSpecialFile, file.path);
      PipeStream stream(fd.get(), &buffer_);
      item.modified_ns.reset();
      ReadItem(&stream, item);
    } else if (st.st_size == 0) {  // empty, or made up while it is read (/proc)
      PipeStream stream(fd.get(), &buffer_);
      ReadItem(&stream, item);
    } else {
      item.fd = fd.get();
      const bool sparse = int64_t{st.st_blocks} * 512 < st.st_size;
      FileStream stream(fd.get(), static_cast<uint64_t>(st.st_size), sparse, &buffer_);
      ReadItem(&stream, item);
    }
  }

  void ReadItem(ByteStream* bytes, const Item& item) {
    PeekedStream stream(bytes, kHeadBytes, &heads_[static_cast<size_t>(item.layer)]);
    if (stream.failure()) return AddFailure(stream.failure(), item);
    switch (ContentKindOf(stream.head())) {
      case ContentKind::kText:
        return ReadText(&stream, item);
      case ContentKind::kUtf16:
        return ReadUtf16(&stream, item);
      case ContentKind::kBinary:
        return CountBinary(item);
      case ContentKind::kCompressed:
        // Only so many layers: one that claimed to be another without end would never be done.
        if (item.layer == Layer::kOpened || item.layer == Layer::kUnpacked) {
          return problems_.Add(Trouble::kNestedArchive, item.path);
        }
        return Decompress(&stream, item);
      case ContentKind::kZip:
        // Checkpoints, wheels, jars and spreadsheets are zips too.
        if (!item.path.ends_with(".zip") && !(item.named && item.fd < 0)) return CountBinary(item);
        if (item.fd >= 0 && HoldsCheckpoint(item.fd, options_.limits.members_max)) return CountBinary(item);
        return Unpack(&stream, item);
      case ContentKind::kTar:
        return Unpack(&stream, item);
    }
  }

  void ReadUtf16(ByteStream* bytes, const Item& item) {
    Utf16Stream decoded(bytes);
    PeekedStream text(&decoded, kHeadBytes, &utf16_head_);
    // The mark alone proves little: other formats may begin so.
    if (ContentKindOf(text.head()) != ContentKind::kText) return CountBinary(item);
    ReadText(&text, item);
  }

  void Decompress(ByteStream* packed, const Item& outer) {
    CompressedStream unpacked(packed, &unpacked_[static_cast<size_t>(outer.layer)]);
    LimitedStream limited(&unpacked, options_.limits.unpacked_bytes_max);
    Item item = outer;
    item.fd = -1;
    item.layer = outer.layer == Layer::kFile ? Layer::kOpened : Layer::kUnpacked;
    if (unpacked.modified_ns()) item.modified_ns = unpacked.modified_ns();
    ReadItem(&limited, item);
  }

  void CountBinary(const Item& item) {
    ++summary_.binary;
    if (item.path.ends_with(".journal")) problems_.Add(Trouble::kJournalFile, item.path);
    if (NameSource(item.path, {}).kind == SourceInfo::Kind::kFlightRecorder) {
      ++summary_.flight_recorder;
    } else if (summary_.binary_named.size() < ReadProblems::kNamedMax) {
      summary_.binary_named.push_back(item.path);
    }
  }

  void Unpack(ByteStream* packed, const Item& item) {
    if (item.layer > Layer::kOpened) return problems_.Add(Trouble::kNestedArchive, item.path);
    std::optional<ArchiveStream> archive;
    if (item.fd >= 0) {
      archive.emplace(item.fd);  // a zip's table of contents stands at its end
    } else {
      archive.emplace(packed);
    }
    int64_t members = 0;
    ArchiveStream::Member member;
    while (archive->NextMember(&member)) {
      if (++members > options_.limits.members_max) {
        return problems_.Add(Trouble::kTooManyMembers, item.path, Cat(options_.limits.members_max));
      }
      ReadMember(&*archive, member, item);
    }
    AddFailure(archive->failure(), item);
  }

  void ReadMember(ArchiveStream* archive, const ArchiveStream::Member& member, const Item& outer) {
    if (!member.is_file || HasPart(member.name, IsHiddenName)) return;
    if (IsCodeOrDocument(member.name)) return void(++summary_.not_logs);
    Item item{MemberPath(outer.path, member.name), outer.modified_ns, -1, false, Layer::kMember};
    if (member.is_encrypted) return problems_.Add(Trouble::kEncrypted, item.path);
    if (member.modified_ns) item.modified_ns = member.modified_ns;
    LimitedStream limited(archive, options_.limits.unpacked_bytes_max);
    ReadItem(&limited, item);
  }

  void AddFailure(const std::optional<ReadFailure>& failure, const Item& item) {
    if (failure) problems_.Add(failure->trouble, item.path, failure->detail);
  }

  SourceInfo Named(const Item& item, std::string_view head) const {
    SourceInfo info = NameSource(item.path, head);
    info.modified_ns = item.modified_ns;
    if (options_.map != nullptr) options_.map->Apply(&info);
    return info;
  }

  void Begin(const SourceInfo& info) {
    ++summary_.sources;
    visitor_->Begin(info);
  }

  void End(uint64_t bytes) {
    visitor_->End();
    summary_.bytes += bytes;
    summary_.empty += bytes == 0;
  }

  void ReadText(PeekedStream* stream, const Item& item) {
    const std::unique_ptr<Decoder> decoder = DecoderFor(stream->head());
    if (IsVerdictDocument(stream->head())) return problems_.Add(Trouble::kVerdict, item.path);
    const SourceInfo info = Named(item, decoder ? DecodedHead(stream->head()) : stream->head());
    // Its JSON form quotes states and stacks, not what went wrong.
    if (info.kind == SourceInfo::Kind::kFlightRecorder) return CountBinary(item);
    Begin(info);
    uint64_t bytes = 0;
    const auto give_decoded = [&] {
      if (!decoded_.empty()) visitor_->Bytes(decoded_);
      decoded_.clear();
    };
    ByteStream::Block block;
    while (stream->Next(&block)) {
      if (block.hole > 0) {
        if (decoder) decoder->Flush(&decoded_);
        give_decoded();
        visitor_->Hole(block.hole);
      }
      bytes += block.bytes.size();
      if (decoder) {
        decoder->Feed(block.bytes, &decoded_);
        give_decoded();
      } else if (!block.bytes.empty()) {
        visitor_->Bytes(block.bytes);
      }
    }
    if (decoder) {
      decoder->Flush(&decoded_);
      give_decoded();
      if (decoder->passed_on() > 0) problems_.Add(Trouble::kNotDecoded, item.path, Cat(decoder->passed_on()));
    }
    End(bytes);
    AddFailure(stream->failure(), item);
  }

  const ReadOptions& options_;
  SourceVisitor* visitor_;
  ReadProblems problems_;
  ReadSummary summary_;
  // Reused from source to source: 20,000 small files must not cost 20,000 large allocations.
  std::string buffer_, decoded_, utf16_head_;
  std::array<std::string, static_cast<size_t>(Layer::kCount)> heads_, unpacked_;
};

}  // namespace

std::string BinarySentence(const ReadSummary& summary) {
  const int64_t count = summary.binary - summary.flight_recorder;
  if (count == 0) return {};
  std::string names;
  for (const std::string& path : summary.binary_named) names += Cat(names.empty() ? "" : ", ", path);
  if (count > static_cast<int64_t>(summary.binary_named.size())) names += ", ...";
  return Cat(count == 1 ? "1 file is not text and was not read (" : Cat(count, " files are not text and were not read ("), names,
             "); a log in UTF-16 without a byte order mark must be converted: iconv -f UTF-16LE -t UTF-8.");
}

absl::StatusOr<ReadSummary> ReadSources(const std::vector<std::string>& paths, const ReadOptions& options,
                                        SourceVisitor* visitor) {
  ReadSummary summary = Reader(options, visitor).Read(paths);
  if (summary.sources > summary.empty) return summary;
  std::string message = "no log to read in";
  for (size_t i = 0; i < paths.size() && i < 3; ++i) message += Cat(i == 0 ? " " : ", ", paths[i]);
  if (paths.size() > 3) message += Cat(" and ", paths.size() - 3, " more");
  if (summary.empty > 0) message += Cat("; ", summary.empty, summary.empty == 1 ? " file is empty" : " files are empty");
  for (const std::string& problem : summary.problems) message += Cat("\n", problem);
  if (const std::string binary = BinarySentence(summary); !binary.empty()) message += Cat("\n", binary);
  return absl::NotFoundError(message);
}

}  // namespace firstfault
