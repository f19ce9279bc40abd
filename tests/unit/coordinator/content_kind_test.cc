#include "coordinator/content_kind.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace firstfault {
namespace {

std::string RandomBytes(size_t size) {
  std::mt19937 random(7);
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random() & 0xff));
  return bytes;
}

std::string Integers(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += {static_cast<char>(i % 90 + 33), 0, 0, 0, 0, 0, 0, 0};
  return bytes;
}

TEST(ContentKind, Text) {
  const std::string lines = "step 1 loss 2.3\nstep 2 loss 2.2\n";
  for (const std::string& text :
       {std::string(), lines, std::string("\xef\xbb\xbf") + lines,  // a byte order mark
        std::string("\x1b[32mINFO\x1b[0m 50%|###\r100%|######\n"),  // colours and progress bars
        std::string("\xd0\xe8\xd2\xaa\xb8\xfc\xb6\xe0\n"),          // another encoding
        lines + std::string(4096, '\0') + lines,                    // a lost write
        std::string(65536, '\0'),                                   // truncated under its writer
        lines + std::string(1, '\0') + lines, std::string("PK is short\n"),
        std::string("BZh9 is a word\n")}) {
    EXPECT_EQ(ContentKindOf(text), ContentKind::kText) << text.substr(0, 40);
  }
}

TEST(ContentKind, BinaryAndPacked) {
  using namespace std::string_literals;  // NOLINT: NULs in literals
  const std::pair<std::string, ContentKind> cases[] = {
      {"\x7f"
       "ELF\x02\x01\x01"s,
       ContentKind::kBinary},
      {"\x89PNG\r\n\x1a\n"s, ContentKind::kBinary},
      {"\x80\x02}q\x00."s, ContentKind::kBinary},
      {"SQLite format 3\0"s, ContentKind::kBinary},
      {RandomBytes(4096), ContentKind::kBinary},
      {Integers(512), ContentKind::kBinary},
      {"s\0t\0e\0p\0 \0"s, ContentKind::kBinary},
      {"\x1f\x8b\x08\x00"s, ContentKind::kCompressed},
      {"\x28\xb5\x2f\xfd"s, ContentKind::kCompressed},
      {"\xfd"
       "7zXZ\0"s,
       ContentKind::kCompressed},
      {"BZh91AY&SY"s, ContentKind::kCompressed},
      {"PK\x03\x04"s, ContentKind::kZip},
      {std::string(257, 'a') + "ustar", ContentKind::kTar},
  };
  for (const auto& [head, kind] : cases) EXPECT_EQ(ContentKindOf(head), kind) << head.substr(0, 8);
}

TEST(ContentKind, AVerdictAboutLogsIsNoLog) {
  EXPECT_TRUE(IsVerdictDocument("rank 3 failed first: KeyError [software, py.key], confidence 0.97\n\nWhy\n\n1 source; firstfault 0.1.0\n"));
  EXPECT_TRUE(IsVerdictDocument("## no failure found: the run completed\n\n2 sources; firstfault 0.1.0\n"));
  EXPECT_TRUE(IsVerdictDocument("{\n \"initiator\": {\"rank\": 0},\n \"first_warning\": \"x\",\n \"class\": \"data\"\n}\n"));
  EXPECT_FALSE(IsVerdictDocument("{\"class\": \"cat\", \"confidence\": 0.9}\n"));
  EXPECT_FALSE(IsVerdictDocument("rank 3 failed first: KeyError\nstep 1\n"));
  // A log in which somebody ran this program.
  EXPECT_FALSE(IsVerdictDocument("undetermined: x\n1 source; firstfault 0.1.0\nstep 1 loss 2.0\nstep 2 loss 2.0\n"));
  EXPECT_FALSE(IsVerdictDocument(""));
}

TEST(ContentKind, ACheckpointIsKnownByItsPickle) {
  EXPECT_TRUE(IsCheckpointMember("archive/data.pkl"));
  EXPECT_FALSE(IsCheckpointMember("n01/train.log"));
}

}  // namespace
}  // namespace firstfault
