#include "coordinator/source_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "correlate/text.h"

namespace firstfault {
namespace {

namespace fs = std::filesystem;

// A folder that goes away with the test.
class TempFolder {
 public:
  explicit TempFolder(const fs::path& parent = fs::temp_directory_path()) {
    std::string name = (parent / "firstfault_reader_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { fs::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(std::string_view name) const { return Cat(path_, "/", name); }
  const std::string& path() const { return path_; }
  std::string Write(std::string_view name, std::string_view text) const {
    const std::string path = *this / name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::string path_;
};

// Keeps everything: text with holes as "<hole N>".
class Keeper : public SourceVisitor {
 public:
  explicit Keeper(const TempFolder& folder) : prefix_(folder.path() + "/") {}
  void Begin(const SourceInfo& info) override {
    EXPECT_FALSE(open_);
    open_ = true;
    std::string name = info.path.starts_with(prefix_) ? info.path.substr(prefix_.size()) : info.path;
    order.push_back(name);
    infos[name] = info;
    text_ = &text[name];
  }
  void Bytes(std::string_view bytes) override {
    EXPECT_FALSE(bytes.empty());
    EXPECT_TRUE(open_);
    text_->append(bytes);
    if (on_bytes) on_bytes();
  }
  void Hole(uint64_t bytes) override { *text_ += Cat("<hole ", bytes, ">"); }
  void End() override { open_ = false; }

  std::vector<std::string> order;
  std::map<std::string, SourceInfo> infos;
  std::map<std::string, std::string> text;
  std::function<void()> on_bytes;

 private:
  std::string prefix_;
  std::string* text_ = nullptr;
  bool open_ = false;
};

using Members = std::vector<std::pair<std::string, std::string>>;

void AddMember(archive* a, const std::string& name, const std::string& text) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_size(entry, static_cast<int64_t>(text.size()));
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_mtime(entry, 1'767'323'045, 0);
  EXPECT_EQ(archive_write_header(a, entry), ARCHIVE_OK) << archive_error_string(a);
  archive_write_data(a, text.data(), text.size());
  archive_entry_free(entry);
}

// `format`: "raw", "ustar", "zip"; `filter`: "none", "gzip", "zstd", "xz", "bzip2".
std::string Packed(const char* format, const char* filter, const Members& members,
                   const char* options = nullptr) {
  std::string out(4 << 20, '\0');
  size_t used = 0;
  archive* a = archive_write_new();
  archive_write_set_format_by_name(a, format);
  if (std::string_view(filter) != "none") archive_write_add_filter_by_name(a, filter);
  archive_write_set_bytes_in_last_block(a, 1);
  if (options != nullptr) {
    EXPECT_EQ(archive_write_set_options(a, options), ARCHIVE_OK) << archive_error_string(a);
    archive_write_set_passphrase(a, "secret");
  }
  archive_write_open_memory(a, out.data(), out.size(), &used);
  for (const auto& [name, text] : members) AddMember(a, name, text);
  archive_write_close(a);
  archive_write_free(a);
  out.resize(used);
  return out;
}

std::string Compressed(const char* filter, const std::string& text) {
  return Packed("raw", filter, {{"x", text}});
}

constexpr const char* kLog = "step 1\nRuntimeError: boom\n";

struct Result {
  ReadSummary summary;
  Keeper kept;
};

Result ReadAll(const TempFolder& folder, const std::vector<std::string>& paths,
               const ReadOptions& options = {}) {
  Result result{{}, Keeper(folder)};
  const auto summary = ReadSources(paths, options, &result.kept);
  EXPECT_TRUE(summary.ok()) << summary.status();
  if (summary.ok()) result.summary = *summary;
  return result;
}

// The one sentence about `what`, or nothing.
std::string ProblemWith(const ReadSummary& summary, std::string_view what) {
  std::string found;
  for (const std::string& problem : summary.problems) {
    if (problem.find(what) != std::string::npos) found += problem;
  }
  return found;
}

TEST(SourceReader, FoldersInOneOrder) {
  const TempFolder folder;
  for (const char* name : {"b/2.log", "a.log", "b/1.log", "b.log", "c/d/e/f.log"}) folder.Write(name, kLog);
  folder.Write("empty.log", "");
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order,
            (std::vector<std::string>{"a.log", "b.log", "b/1.log", "b/2.log", "c/d/e/f.log", "empty.log"}));
  EXPECT_EQ(read.kept.text.at("b/1.log"), kLog);
  EXPECT_EQ(read.summary.sources, 6);
  EXPECT_EQ(read.summary.empty, 1);
  EXPECT_EQ(read.summary.problems, std::vector<std::string>{});
  EXPECT_TRUE(read.kept.infos.at("a.log").modified_ns.has_value());
  const Result again =
      ReadAll(folder, {folder / "c", folder / "empty.log", folder / "b", folder / "b.log", folder / "a.log"});
  EXPECT_EQ(again.kept.order, read.kept.order);
}

TEST(SourceReader, EveryPackedFormGivesTheSameText) {
  const TempFolder folder;
  std::string large;
  for (int i = 0; i < 20'000; ++i) large += Cat("step ", i, " loss ", i * 7 % 1000, "\n");
  for (const char* filter : {"gzip", "zstd", "xz", "bzip2"}) {
    folder.Write(Cat("plain.", filter), Compressed(filter, large));
    folder.Write(Cat("tar.", filter),
                 Packed("ustar", filter, {{"./n01/train.log", large}, {"n02/train.log", kLog}}));
  }
  folder.Write("logs.tar", Packed("ustar", "none", {{"n01/rank_3.log.gz", Compressed("gzip", large)}}));
  folder.Write(
      "logs.zip",
      Packed("zip", "none", {{"n01/rank_4.log", large}, {"n01/rank_5.log.zst", Compressed("zstd", large)}}));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.summary.problems, std::vector<std::string>{});
  for (const char* filter : {"gzip", "zstd", "xz", "bzip2"}) {
    EXPECT_TRUE(read.kept.text.at(Cat("plain.", filter)) == large) << filter;
    EXPECT_TRUE(read.kept.text.at(Cat("tar.", filter, "/n01/train.log")) == large) << filter;
    EXPECT_EQ(read.kept.text.at(Cat("tar.", filter, "/n02/train.log")), kLog) << filter;
  }
  EXPECT_TRUE(read.kept.text.at("logs.tar/n01/rank_3.log.gz") == large);
  EXPECT_TRUE(read.kept.text.at("logs.zip/n01/rank_4.log") == large);
  EXPECT_TRUE(read.kept.text.at("logs.zip/n01/rank_5.log.zst") == large);
  EXPECT_EQ(read.kept.infos.at("logs.tar/n01/rank_3.log.gz").rank->value, "3");
  EXPECT_EQ(read.kept.infos.at("logs.zip/n01/rank_4.log").modified_ns, 1'767'323'045'000'000'000);
  EXPECT_EQ(read.summary.sources, 15);
}

TEST(SourceReader, APipeIsReadLikeStandardInput) {
  const TempFolder folder;
  const std::string fifo = folder / "fifo", archive = folder / "archive";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(archive.c_str(), 0600), 0);
  folder.Write("a.log", kLog);
  std::thread writer([&] {
    // In the order in which they are read.
    std::ofstream(archive, std::ios::binary) << Packed("ustar", "gzip", {{"n01/x.log", kLog}});
    std::ofstream(fifo) << "one\n" << std::flush << "two\n";
  });
  const Result read = ReadAll(folder, {fifo, archive});
  writer.join();
  EXPECT_EQ(read.kept.text.at("fifo"), "one\ntwo\n");
  EXPECT_EQ(read.kept.text.at("archive/n01/x.log"), kLog);
  const Result in_folder = ReadAll(folder, {folder.path()});  // must not wait for a writer
  EXPECT_EQ(in_folder.kept.order, std::vector<std::string>{"a.log"});
  EXPECT_NE(ProblemWith(in_folder.summary, "fifo is a pipe"), "");
}

// To open it again would wait for a writer that never comes.
TEST(SourceReader, APipeThatIsNamedTwiceIsReadOnce) {
  const TempFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("fifo", folder / "link");
  std::thread writer([&] { std::ofstream(fifo) << kLog; });
  const Result read = ReadAll(folder, {fifo, fifo, folder / "link"});
  writer.join();
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"fifo"});
  EXPECT_EQ(read.kept.text.at("fifo"), kLog);
  EXPECT_NE(ProblemWith(read.summary, "link is a pipe that was named before, and is read once"), "");
}

std::string Utf16(std::u16string_view text, bool big_endian) {
  std::string out;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xff);
    out += big_endian ? std::string{high, low} : std::string{low, high};
  }
  return out;
}

TEST(SourceReader, Utf16IsDecoded) {
  const TempFolder folder;
  const std::u16string text = u"\ufeffstep 1\r\nRuntimeError: b\u00f6\u20ac\U0001f600m\r\n";
  std::u16string large = text;
  while (large.size() < 300'000) large += text.substr(1);
  const std::string line = "step 1\r\nRuntimeError: b\u00f6\u20ac\U0001f600m\r\n";
  for (const bool big_endian : {false, true}) {
    const std::string name = big_endian ? "be.log" : "le.log";
    folder.Write(name, Utf16(text, big_endian));
    folder.Write(name + ".gz", Compressed("gzip", Utf16(large, big_endian)));
    folder.Write("cut." + name, Utf16(text, big_endian) + "x");  // half a character
    folder.Write("wrong." + name, Utf16(std::u16string(u"\ufeffa\xd800z\xdc00\n"), big_endian));
  }
  const Result read = ReadAll(folder, {folder.path()});
  for (const std::string name : {"le.log", "be.log"}) {
    EXPECT_EQ(read.kept.text.at(name), line);
    EXPECT_EQ(read.kept.text.at("cut." + name), line + "\ufffd");
    EXPECT_EQ(read.kept.text.at("wrong." + name), "a\ufffdz\ufffd\n");
    const std::string& all = read.kept.text.at(name + ".gz");
    EXPECT_EQ(all.size() % line.size(), 0u);
    EXPECT_TRUE(all.ends_with(line + line));
  }
  EXPECT_EQ(read.summary.binary, 0);
  EXPECT_EQ(read.summary.problems, std::vector<std::string>{});
}

TEST(SourceReader, StandardInput) {
  const TempFolder folder;
  const int log = open(folder.Write("in", kLog).c_str(), O_RDONLY);
  const int saved = dup(STDIN_FILENO);
  dup2(log, STDIN_FILENO);
  const Result read = ReadAll(folder, {"-", "-"});
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(log);
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"stdin"});
  EXPECT_EQ(read.kept.text.at("stdin"), kLog);
}

TEST(SourceReader, LinksAreFollowedOnce) {
  const TempFolder folder;
  folder.Write("runs/7/train.log", kLog);
  fs::create_directory_symlink("runs/7", folder / "latest");
  fs::create_directory_symlink("..", folder / "runs/up");
  fs::create_symlink("runs/7/train.log", folder / "a.log");
  fs::create_symlink("self", folder / "self");
  fs::create_symlink("nowhere", folder / "gone.log");
  fs::create_hard_link(folder / "runs/7/train.log", folder / "runs/7/zz.log");
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"runs/7/train.log"});
  EXPECT_EQ(read.summary.duplicates, 2);
  EXPECT_NE(ProblemWith(read.summary, "gone.log is a link to nothing"), "");
  EXPECT_NE(ProblemWith(read.summary, "self could not be opened"), "");
}

TEST(SourceReader, TroubleIsNamedAndFolded) {
  const TempFolder folder;
  folder.Write("a.log", kLog);
  for (int i = 0; i < 10; ++i) fs::create_symlink("nowhere", folder / Cat("gone", i, ".log"));
  const Result read = ReadAll(folder, {folder.path(), folder / "missing.log"});
  EXPECT_EQ(read.summary.sources, 1);
  EXPECT_NE(ProblemWith(read.summary, "missing.log does not exist: check the path."), "");
  EXPECT_EQ(ProblemWith(read.summary, "7 more"), "7 more links lead to nothing.");
  EXPECT_EQ(read.summary.problems.size(), 5u);
}

TEST(SourceReader, SocketsAndDevicesAreNotLogs) {
  const TempFolder folder;
  folder.Write("a.log", kLog);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder / "socket";
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const Result read = ReadAll(folder, {folder.path(), "/dev/null"});
  close(fd);
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"a.log"});
  EXPECT_NE(ProblemWith(read.summary, "socket is a pipe, socket or device"), "");
  EXPECT_NE(ProblemWith(read.summary, "/dev/null could not be opened"), "");
}

TEST(SourceReader, HiddenNamesCodeAndBinaryFilesArePassedOver) {
  const TempFolder folder;
  folder.Write("train.log", kLog);
  folder.Write(".git/logs/HEAD", kLog);
  folder.Write(".train.log.swp", kLog);
  folder.Write("train.py", "raise RuntimeError('CUDA out of memory')\n");
  folder.Write("core.77",
               "\x7f"
               "ELF" +
                   std::string(5000, '\1'));
  folder.Write("nccl_trace_rank_3", std::string("\x80\x02}q\0.", 6));
  folder.Write("nccl_trace_rank_4.json", "{\"entries\": []}\n");
  folder.Write("code.tar",
               Packed("ustar", "none", {{"train.py", kLog}, {".git/x", kLog}, {"img", "\x89PNG\r\n"}}));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"train.log"});
  EXPECT_EQ(read.summary.binary, 4);
  EXPECT_EQ(read.summary.flight_recorder, 2);
  EXPECT_EQ(read.summary.not_logs, 2);
  EXPECT_EQ(read.summary.problems, std::vector<std::string>{});
  EXPECT_EQ(ReadAll(folder, {folder / "train.py"}).summary.sources, 1);  // named: read
}

TEST(SourceReader, AJournalFileComesWithTheCommandThatExportsIt) {
  const TempFolder folder;
  folder.Write("a.log", kLog);
  folder.Write("system.journal", "LPKSHHRH" + std::string(64, '\1'));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.summary.binary, 1);
  EXPECT_NE(ProblemWith(read.summary, "journalctl --file"), "");
}

TEST(SourceReader, CheckpointsAreNotArchives) {
  const TempFolder folder;
  folder.Write("a.log", kLog);
  const std::string checkpoint =
      Packed("zip", "none", {{"m/version", "3\n"}, {"m/data.pkl", "\x80\x02}q."}, {"m/data/0", kLog}});
  folder.Write("model.pt", checkpoint);
  folder.Write("model.zip", checkpoint);
  folder.Write("arrays.npz", Packed("zip", "none", {{"x.npy", "\x93NUMPY"}}));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"a.log"});
  EXPECT_EQ(read.summary.binary, 3);
}

TEST(SourceReader, DamageIsReportedAndWhatCameBeforeIsRead) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += Cat("step ", i * 7919 % 100'003, "\n");
  const std::string gz = Compressed("gzip", text);
  folder.Write("cut.log.gz", gz.substr(0, gz.size() / 2));
  const std::string tar = Packed("ustar", "zstd", {{"n01/a.log", kLog}, {"n01/b.log", text}});
  folder.Write("cut.tar.zst", tar.substr(0, tar.size() / 2));
  folder.Write("noise.zip", "PK\x03\x04" + std::string(300, 'x'));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_TRUE(text.starts_with(read.kept.text.at("cut.log.gz")));
  EXPECT_GT(read.kept.text.at("cut.log.gz").size(), 1000u);
  EXPECT_EQ(read.kept.text.at("cut.tar.zst/n01/a.log"), kLog);
  for (const char* name : {"cut.log.gz", "cut.tar.zst", "noise.zip"}) {
    EXPECT_NE(ProblemWith(read.summary, name).find("is damaged"), std::string::npos) << name;
  }
  EXPECT_EQ(read.summary.problems.size(), 3u) << testing::PrintToString(read.summary.problems);
}

constexpr const char* kFilters[] = {"gzip", "zstd", "xz", "bzip2", "lz4"};

// Lines that hardly shrink, so that a cut stream still has most of them.
std::string Noise(int lines) {
  std::string text;
  uint32_t state = 1;
  for (int i = 0; i < lines; ++i) text += Cat("step ", i, " ", state = state * 1664525 + 1013904223, "\n");
  return text;
}

TEST(SourceReader, OfACutStreamEveryDecodedByteIsRead) {
  const TempFolder folder;
  // Shorter than one block of libarchive's filters, so that these would give nothing of it.
  const std::string text = Noise(2000);
  for (const char* filter : {"gzip", "xz"}) {
    const std::string packed = Compressed(filter, text);
    folder.Write(Cat("cut.", filter), packed.substr(0, packed.size() - 2));  // in its trailer
  }
  // Their blocks are decoded as a whole: all but the last are there.
  const std::string longer = Noise(220'000);
  for (const char* filter : {"zstd", "bzip2", "lz4"}) {
    const std::string packed = Compressed(filter, longer);
    folder.Write(Cat("cut.", filter), packed.substr(0, packed.size() - 2));
  }
  const Result read = ReadAll(folder, {folder.path()});
  for (const char* filter : {"gzip", "xz"}) EXPECT_TRUE(read.kept.text.at(Cat("cut.", filter)) == text) << filter;
  for (const char* filter : {"zstd", "bzip2", "lz4"}) {
    EXPECT_GE(read.kept.text.at(Cat("cut.", filter)).size(), 4u << 20) << filter;
  }
  EXPECT_EQ(read.summary.broken_off, 5);
  EXPECT_NE(ProblemWith(read.summary, "cut.gzip is damaged and was read up to the damage (the end of its gzip data is missing)"), "");
}

TEST(SourceReader, MembersOfOneFormatAreOneText) {
  const TempFolder folder;
  std::string padded = Compressed("gzip", kLog) + std::string(700, '\0');  // as tapes and block devices leave it
  for (const char* filter : kFilters) folder.Write(filter, Compressed(filter, kLog) + Compressed(filter, "more\n"));
  folder.Write("padded", padded + Compressed("gzip", "more\n") + std::string(5, '\0'));
  const Result read = ReadAll(folder, {folder.path()});
  for (const char* filter : kFilters) EXPECT_EQ(read.kept.text.at(filter), Cat(kLog, "more\n")) << filter;
  EXPECT_EQ(read.kept.text.at("padded"), Cat(kLog, "more\n"));
  EXPECT_EQ(read.summary.problems, std::vector<std::string>{});
  EXPECT_EQ(read.summary.broken_off, 0);
}

TEST(SourceReader, WhatStandsBehindCompressedDataIsTold) {
  const TempFolder folder;
  const std::string gzip = Compressed("gzip", kLog);
  folder.Write("a.gz", gzip + "RuntimeError: boom\n");
  folder.Write("b.gz", gzip + Compressed("xz", kLog));
  folder.Write("c.tar.gz", Compressed("gzip", Packed("ustar", "none", {{"x.log", kLog}})) + "text");
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.text.at("a.gz"), kLog);
  EXPECT_EQ(read.kept.text.at("c.tar.gz/x.log"), kLog);
  EXPECT_NE(ProblemWith(read.summary, Cat("a.gz has more behind its compressed data, which was not read (from byte ", gzip.size(), ")")), "");
  EXPECT_NE(ProblemWith(read.summary, "b.gz has more behind"), "");
  EXPECT_NE(ProblemWith(read.summary, "c.tar.gz has more behind"), "");
  EXPECT_EQ(read.summary.broken_off, 3);
}

TEST(SourceReader, AWrongChecksumOfACompressedLogIsDamage) {
  const TempFolder folder;
  for (const char* filter : {"gzip", "xz"}) {
    std::string packed = Compressed(filter, kLog);
    packed[packed.size() - 6] ^= 1;  // gzip: of the checksum; xz: of its footer
    folder.Write(filter, packed);
  }
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.text.at("gzip"), kLog);
  EXPECT_NE(ProblemWith(read.summary, "gzip is damaged"), "");
  EXPECT_NE(ProblemWith(read.summary, "xz is damaged"), "");
}

TEST(SourceReader, TarsBehindEachOtherAreAllRead) {
  const TempFolder folder;
  folder.Write("two.tar", Packed("ustar", "none", {{"a.log", kLog}}) + Packed("ustar", "none", {{"b.log", kLog}}));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, (std::vector<std::string>{"two.tar/a.log", "two.tar/b.log"}));
}

TEST(SourceReader, EncryptedMembersAreNamed) {
  const TempFolder folder;
  folder.Write("a.zip", Packed("zip", "none", {{"secret.log", kLog}}, "zip:encryption=traditional"));
  folder.Write("b.log", kLog);
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"b.log"});
  EXPECT_NE(ProblemWith(read.summary, "a.zip/secret.log is encrypted"), "");
}

TEST(SourceReader, ArchivesInsideArchivesAreLeft) {
  const TempFolder folder;
  const std::string inner = Packed("ustar", "none", {{"x.log", kLog}});
  folder.Write("a.tar",
               Packed("ustar", "none",
                      {{"inner.tar", inner}, {"inner.tar.gz", Compressed("gzip", inner)}, {"y.log", kLog}}));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"a.tar/y.log"});
  EXPECT_NE(ProblemWith(read.summary, "a.tar/inner.tar is an archive inside"), "");
  EXPECT_NE(ProblemWith(read.summary, "a.tar/inner.tar.gz is an archive inside"), "");
}

// A file that only pretends to be compressed unpacks to itself.
TEST(SourceReader, WhatPretendsToBeCompressedIsRead) {
  const TempFolder folder;
  for (const char* name : {"XXXX1AY&SYhello.log", "BZxx1AY&SY.log"}) {
    folder.Write(name, Cat(std::string(name).substr(0, 10), "hello world\n", kLog));
  }
  folder.Write("BZh9.log", Cat("BZh91AY&SY", kLog));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, (std::vector<std::string>{"BZxx1AY&SY.log", "XXXX1AY&SYhello.log"}));
  EXPECT_NE(ProblemWith(read.summary, "BZh9.log"), "");
}

TEST(SourceReader, NulsAtTheBeginOfACompressedLogAreNoArchive) {
  const TempFolder folder;
  const std::string text = std::string(1024, '\0') + std::string(kLog);
  for (const char* filter : {"gzip", "xz", "zstd"}) folder.Write(Cat("a.log.", filter), Compressed(filter, text));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.summary.bytes, 3 * text.size());
}

TEST(SourceReader, MembersWithNamesThatLeadOutsideAreReadAndNothingIsWritten) {
  const TempFolder folder;
  folder.Write("up.tar", Packed("ustar", "none", {{"../../n01/a.log", kLog}}));
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(read.kept.order, std::vector<std::string>{"up.tar/n01/a.log"});
}

TEST(SourceReader, AWrongChecksumInAZipIsDamage) {
  const TempFolder folder;
  std::string zip = Packed("zip", "none", {{"a.log", kLog}}, "zip:compression=store");
  const size_t at = zip.find(kLog);
  ASSERT_NE(at, std::string::npos) << "the member is not stored";
  zip[at] ^= 1;
  folder.Write("bad.zip", zip);
  EXPECT_NE(ProblemWith(ReadAll(folder, {folder.path()}).summary, "is damaged"), "");
}

TEST(SourceReader, BombsEndAtTheLimits) {
  const TempFolder folder;
  ReadOptions options;
  options.limits.unpacked_bytes_max = 1 << 20;
  options.limits.members_max = 2;
  folder.Write("bomb.gz", Compressed("gzip", std::string(8 << 20, 'a')));
  folder.Write("many.tar", Packed("ustar", "none", {{"1.log", kLog}, {"2.log", kLog}, {"3.log", kLog}}));
  const Result read = ReadAll(folder, {folder.path()}, options);
  EXPECT_LE(read.kept.text.at("bomb.gz").size(), 1u << 20);
  EXPECT_NE(ProblemWith(read.summary, "bomb.gz unpacks to more"), "");
  EXPECT_EQ(read.kept.order, (std::vector<std::string>{"bomb.gz", "many.tar/1.log", "many.tar/2.log"}));
  EXPECT_NE(ProblemWith(read.summary, "many.tar has more members"), "");
}

TEST(SourceReader, HolesAreSkippedNotRead) {
  const TempFolder folder;
  const std::string path = folder.Write("sparse.log", kLog);
  constexpr int64_t kFourGiB = int64_t{4} << 30;
  const int fd = open(path.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "end\n", 4, kFourGiB), 4);
  ASSERT_EQ(ftruncate(fd, kFourGiB + (1 << 20)), 0);
  close(fd);
  const auto start = std::chrono::steady_clock::now();
  const Result read = ReadAll(folder, {path});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  // The file system pads extents with zeros; around them are holes.
  std::string text = read.kept.text.at("sparse.log");
  text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
  EXPECT_EQ(text.find(kLog), 0u);
  EXPECT_NE(text.find("<hole 42949"), std::string::npos) << text;
  EXPECT_NE(text.find(">end\n"), std::string::npos) << text;
  EXPECT_LT(read.summary.bytes, 1u << 20);
}

TEST(SourceReader, AFileThatShrinksEndsCleanly) {
  const TempFolder folder;
  const std::string path = folder.Write("a.log", std::string(1 << 20, 'a'));
  Keeper keeper(folder);
  keeper.on_bytes = [&] { truncate(path.c_str(), 1000); };
  const auto summary = ReadSources({path}, {}, &keeper);
  ASSERT_TRUE(summary.ok());
  EXPECT_NE(ProblemWith(*summary, "a.log became shorter while it was read (from 1048576 to"), "");
}

TEST(SourceReader, AFileThatGrowsHasAnEnd) {
  const TempFolder folder;
  const std::string path = folder.Write("a.log", std::string(1 << 20, 'a'));
  Keeper keeper(folder);
  std::ofstream more(path, std::ios::app);
  keeper.on_bytes = [&] { more << std::string(1 << 20, 'b') << std::flush; };
  ASSERT_TRUE(ReadSources({path}, {}, &keeper).ok());
  EXPECT_EQ(keeper.text.at("a.log").size(), 1u << 20);
}

TEST(SourceReader, CollectorsRecordsBecomeText) {
  const TempFolder folder;
  folder.Write("journal.json",
               R"({"__REALTIME_TIMESTAMP":"1767323045678901","_SOURCE_MONOTONIC_TIMESTAMP":"12345678",)"
               R"("_TRANSPORT":"kernel","_HOSTNAME":"n07","MESSAGE":"NVRM: Xid (PCI:0000:41:00): 79"})"
               "\nbroken\n");
  const Result read = ReadAll(folder, {folder.path()});
  EXPECT_EQ(
      read.kept.text.at("journal.json"),
      "2026-01-02T03:04:05.678901Z n07 kernel: [   12.345678] NVRM: Xid (PCI:0000:41:00): 79\nbroken\n");
  EXPECT_EQ(read.kept.infos.at("journal.json").host->value, "n07");
  EXPECT_EQ(read.kept.infos.at("journal.json").kind, SourceInfo::Kind::kKernelLog);
  EXPECT_NE(ProblemWith(read.summary, "journal.json has records that its format does not allow"), "");
}

TEST(SourceReader, TheMapIsAppliedBeforeTheVisitorSeesASource) {
  const TempFolder folder;
  folder.Write("x.log", kLog);
  const auto map = SourceMap::Parse("m", "x.log rank=5 host=n05");
  ReadOptions options;
  options.map = &*map;
  EXPECT_EQ(ReadAll(folder, {folder.path()}, options).kept.infos.at("x.log").rank->by, "--map");
}

TEST(SourceReader, NothingToReadIsNotFound) {
  const TempFolder folder;
  folder.Write("core",
               "\x7f"
               "ELF");
  Keeper keeper(folder);
  for (const auto& paths : std::vector<std::vector<std::string>>{{folder.path()}, {folder / "missing"}, {}}) {
    EXPECT_EQ(ReadSources(paths, {}, &keeper).status().code(), absl::StatusCode::kNotFound);
  }
}

TEST(SourceReader, TwentyThousandSmallFilesAreFast) {
  // In memory where possible: writing 20,000 files to a disk takes seconds.
  const TempFolder folder(fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path());
  for (int i = 0; i < 20'000; ++i) {
    std::ofstream(folder / Cat("rank_", i, ".log")) << "step 1\nstep 2\n";
  }
  struct Counter : SourceVisitor {
    void Begin(const SourceInfo& info) override { ranks += info.rank.has_value(); }
    void Bytes(std::string_view text) override { bytes += text.size(); }
    void Hole(uint64_t) override {}
    void End() override {}
    size_t ranks = 0, bytes = 0;
  } counter;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(ReadSources({folder.path()}, {}, &counter).ok());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(counter.ranks, 20'000u);
  EXPECT_EQ(counter.bytes, 280'000u);
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_LT(took.count(), 10) << "0.3 s on an idle core; sanitizers and a busy machine take longer";
}

}  // namespace
}  // namespace firstfault
