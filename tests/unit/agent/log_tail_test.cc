// What LogTail delivers of real files is what was written to them, whatever happened to the files.
#include "agent/log_tail.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "correlate/text.h"

namespace firstfault::agent {
namespace {

namespace fs = std::filesystem;

class Recorder : public TailSink {
 public:
  void Opened(uint32_t source, const std::string& path, bool) override { paths[source] = path; }
  void Bytes(uint32_t source, uint64_t offset, std::string_view bytes) override {
    std::string& text = texts[source];
    EXPECT_EQ(offset, text.size()) << "source " << source;
    EXPECT_LE(bytes.size(), kReadBytes);
    text += bytes;
  }
  void FileEnded(uint32_t source) override { ++ended[source]; }
  std::string TextOf(const std::string& path) const {
    std::string out;
    for (const auto& [source, other] : paths) {
      if (other == path && texts.contains(source)) out += texts.at(source);
    }
    return out;
  }

  std::map<uint32_t, std::string> paths, texts;
  std::map<uint32_t, int> ended;
};

class LogTailTest : public testing::Test {
 protected:
  LogTailTest() {
    std::string name = (fs::temp_directory_path() / "firstfault-tail-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~LogTailTest() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Append(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::app) << text;
    written_[Path(name)] += text;
  }
  // Polls until nothing more comes, over the time in which a renamed file is left.
  void Settle(LogTail& tail) {
    for (int i = 0; i < 5; ++i) {
      while (tail.Poll(now_, got_)) {
      }
      now_ += kScanEveryNs;
    }
  }
  void ExpectAll() {
    for (const auto& [path, text] : written_) EXPECT_TRUE(got_.TextOf(path) == text) << path << ": " << got_.TextOf(path).size() << " of " << text.size();
  }

  fs::path folder_;
  int64_t now_ = 0;
  Recorder got_;
  std::map<std::string, std::string> written_;
};

TEST_F(LogTailTest, FollowsLateFilesAndPartialLines) {
  LogTail tail({Path("*.log"), Path("late/*.log")});
  Append("a.log", "one\ntw");
  Settle(tail);
  EXPECT_EQ(got_.TextOf(Path("a.log")), "one\ntw");
  Append("a.log", "o\n");
  fs::create_directory(folder_ / "late");
  Append("late/b.log", "b\n");
  Append("c.txt", "not asked for\n");
  written_.erase(Path("c.txt"));
  Settle(tail);
  ExpectAll();
  EXPECT_EQ(got_.paths.size(), 2U);
}

TEST_F(LogTailTest, ReadsLargeFilesInBoundedShares) {
  LogTail tail({Path("*.log")});
  Append("a.log", std::string(3 * kPollBytesMax, 'x'));
  tail.Poll(0, got_);
  EXPECT_TRUE(tail.Poll(0, got_));
  EXPECT_LE(got_.texts[1].size(), kPollBytesMax + kReadBytes);
  Settle(tail);
  ExpectAll();
}

TEST_F(LogTailTest, GoesOnOverRotationByName) {
  LogTail tail({Path("a.log*")});
  Append("a.log", "old\npart");
  Settle(tail);
  fs::rename(folder_ / "a.log", folder_ / "a.log.1");
  std::ofstream(folder_ / "a.log.1", std::ios::app) << "ial\n";  // the writer still has it open
  written_[Path("a.log")] += "ial\n";
  Append("a.log", "new\n");
  Settle(tail);
  ExpectAll();
  EXPECT_EQ(got_.paths.size(), 1U) << "the rotated file is no source of its own";
  EXPECT_EQ(got_.ended[1], 1);
}

TEST_F(LogTailTest, GoesOnOverCopyTruncate) {
  LogTail tail({Path("a.log*")});
  Append("a.log", "first part of the log\n");
  Settle(tail);
  for (const char* text : {"short\n", "a text that is longer than what stood there before it\n"}) {
    fs::copy_file(folder_ / "a.log", folder_ / "a.log.1", fs::copy_options::overwrite_existing);
    fs::resize_file(folder_ / "a.log", 0);
    Append("a.log", text);
    Settle(tail);
  }
  ExpectAll();
  EXPECT_EQ(got_.paths.size(), 1U) << "a copy is no source of its own";
  EXPECT_EQ(tail.stats().truncations, 2U);
}

TEST_F(LogTailTest, GoesOnWhereFilesAndFoldersAreMadeAnew) {
  fs::create_directory(folder_ / "job");
  LogTail tail({Path("job/*.log")});
  Append("job/a.log", "one\n");
  Settle(tail);
  Append("job/a.log", "last words\n");
  fs::remove_all(folder_ / "job");
  Settle(tail);
  fs::create_directory(folder_ / "job");
  Append("job/a.log", "two\n");
  Settle(tail);
  ExpectAll();
}

TEST_F(LogTailTest, DoesNotFollowWhatIsNoFile) {
  fs::create_directory(folder_ / "folder.log");
  ASSERT_EQ(mkfifo(Path("fifo.log").c_str(), 0600), 0);
  LogTail tail({Path("*.log")});
  Settle(tail);
  EXPECT_TRUE(got_.paths.empty());
  EXPECT_EQ(tail.stats().not_followed, 1U);
}

TEST_F(LogTailTest, ResumesWhereItStood) {
  Append("a.log", "0123456789");
  SourcePosition position;
  {
    LogTail tail({Path("a.log*")});
    Settle(tail);
    position = *tail.PositionOf(1);
  }
  Append("a.log", "abc");
  fs::rename(folder_ / "a.log", folder_ / "a.log.1");  // while nobody looks
  Append("a.log", "new");
  LogTail tail({Path("a.log*")});
  got_.texts[1].resize(4);
  EXPECT_TRUE(tail.Resume(position, 4, 10));
  Settle(tail);
  ExpectAll();
  EXPECT_EQ(got_.paths.size(), 1U);
}

TEST_F(LogTailTest, TakesAReusedInodeForAnotherFile) {
  Append("a.log", "the old file\n");
  SourcePosition position;
  {
    LogTail tail({Path("a.log")});
    Settle(tail);
    position = *tail.PositionOf(1);
  }
  fs::resize_file(folder_ / "a.log", 0);  // as if removed and made anew with its inode
  Append("a.log", "a new file that is longer\n");
  LogTail tail({Path("a.log")});
  EXPECT_FALSE(tail.Resume(position, 0, 13));
  Settle(tail);
  ExpectAll();
  EXPECT_EQ(tail.stats().lost_files, 1U);
}

TEST_F(LogTailTest, DeliversWhatWasWrittenUnderRandomChanges) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    got_ = {};
    written_.clear();
    now_ = 0;
    LogTail tail({Path("*.log*")});
    int rotated = 0;
    for (int step = 0; step < 60; ++step) {
      const std::string name = Cat(random() % 3, ".log");
      switch (random() % 6) {
        case 0: {
          Settle(tail);
          if (!fs::exists(folder_ / name)) break;
          fs::rename(folder_ / name, folder_ / Cat(name, ".", ++rotated));
          break;
        }
        case 1: {
          Settle(tail);
          if (!fs::exists(folder_ / name)) break;
          fs::copy_file(folder_ / name, folder_ / Cat(name, ".", ++rotated));
          fs::resize_file(folder_ / name, 0);
          break;
        }
        case 2:
          Settle(tail);
          fs::remove(folder_ / name);
          break;
        case 3:
          tail.Poll(now_, got_);
          now_ += kScanEveryNs / 3;
          break;
        default:
          Append(name, Cat("seed ", seed, " step ", step, " ", std::string(random() % 300, 'x'),
                           random() % 3 == 0 ? "" : "\n"));
      }
    }
    Settle(tail);
    ExpectAll();
    for (const auto& [source, path] : got_.paths) {
      EXPECT_TRUE(written_.contains(path) || got_.texts[source].empty()) << path << " was read twice, seed " << seed;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace firstfault::agent
