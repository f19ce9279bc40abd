#include "coordinator/shown_text.h"

#include <gtest/gtest.h>

#include "coordinator/fold.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

struct Row {
  const char* in;
  const char* out;
};

TEST(Printable, ControlsAreDroppedOrSpelledOut) {
  const Row rows[] = {
      {"plain text", "plain text"},
      {"\x1b[31;1mError\x1b[0m", "Error"},
      {"\x1b[2J\x1b[Hx\x1b[?25l", "x"},
      {"\x1b(B\x1b"
       "cx",
       "x"},
      {"\x1b]0;title\x07x", "\\x1b]0;title\\x07x"},
      {"\x1b]8;;http://a\x1b\\x", "\\x1b]8;;http://ax"},
      {"\x1b[12", "\\x1b[12"},
      {"end\x1b", "end\\x1b"},
      {"\x1b[3\x1b[31mx", "\\x1b[3x"},
      {"a\tb", "a    b"},
      {"50%\r100%", "50%\\x0d100%"},
      {"a\nb", "a\\x0ab"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},
      {"\xe2\x80\xae"
       "abc",
       "\\u202eabc"},
      {"\xf3\xa0\x80\x81", "\\U000e0001"},
      {"\xff\xc0\xaf\xe2\x80", "\\xff\\xc0\\xaf\\xe2\\x80"},
      {"\xe0\x80\x80", "\\xe0\\x80\\x80"},                // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                // surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above U+10FFFF
      {"\xe6\x97\xa5\xe6\x9c\xac \xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac \xc3\xa9"},
  };
  for (const Row& row : rows) EXPECT_EQ(Printable(row.in), row.out);
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(CutMiddle, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(CutMiddle("0123456789", 10), "0123456789");
  EXPECT_EQ(CutMiddle("0123456789", 9), "012...789");
  EXPECT_EQ(CutMiddle("0123456789", 8), "012...89");
  const std::string wide = "\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5";
  for (size_t columns = 0; columns < 12; ++columns) {
    const std::string cut = CutMiddle(wide, columns);
    EXPECT_LE(Columns(cut), std::max<size_t>(columns, 3)) << columns;
    EXPECT_EQ(Printable(cut), cut) << columns;  // no broken character
  }
}

TEST(CutMiddle, CutsBetweenWords) {
  EXPECT_EQ(CutMiddle("tried to allocate 3.91 GiB with 4.52 GiB reserved", 40), "tried to allocate ... 4.52 GiB reserved");
  EXPECT_EQ(CutMiddle("tried to allocate 3.91 GiB with 4.52 GiB reserved", 38), "tried to allocate ... GiB reserved");
  EXPECT_EQ(CutMiddle("/a/long/path/that/has/no/blank and more", 20), "/a/long/p... more");
  EXPECT_EQ(CutAround("", "GPU 3", " has 79.15 GiB of which 1.02 GiB is free", 20), "GPU 3 has 79.15 ...");
}

TEST(CutAround, WhatIsKeptStaysAndBothSidesShareTheRest) {
  const std::string before(60, 'b'), after(60, 'a');
  for (const size_t columns : {20u, 40u, 80u}) {
    const std::string cut = CutAround(before, "KEEP", after, columns);
    EXPECT_EQ(Columns(cut), columns) << cut;
    EXPECT_NE(cut.find("KEEP"), std::string::npos) << cut;
  }
  EXPECT_EQ(CutAround("who ", "KEEP", after, 20), "who KEEPaaaaaaaaa...");
  EXPECT_EQ(CutAround("a ", "b", " c", 20), "a b c");
  EXPECT_EQ(CutAround("", "", after, 9), CutMiddle(after, 9));
  for (size_t columns = 0; columns < 12; ++columns) {
    EXPECT_LE(Columns(CutAround(before, "a phrase that does not fit", after, columns)), std::max<size_t>(columns, 3));
  }
}

TEST(Wrap, FillsLinesAndKeepsLongWords) {
  EXPECT_EQ(Wrap("aaa bbb ccc", 9, "  "), "aaa bbb\n  ccc");
  EXPECT_EQ(Wrap("a /a/very/long/path b", 8, "  "), "a\n  /a/very/long/path\n  b");
  EXPECT_EQ(Wrap("", 8, "  "), "");
}

TEST(Fixed, DoesNotDependOnTheLocale) {
  EXPECT_EQ(Fixed(0.9249, 2), "0.92");
  EXPECT_EQ(Fixed(1, 2), "1.00");
  EXPECT_EQ(Fixed(41.04, 1), "41.0");
}

TEST(Fold, RanksBecomeRanges) {
  EXPECT_EQ(FoldNumbers({5, 0, 2, 1, 1}), "0-2, 5");
  EXPECT_EQ(FoldNumbers({}), "");
  EXPECT_EQ(FoldNumbers({7}), "7");
}

TEST(Fold, HostsBecomeHostLists) {
  EXPECT_EQ(FoldHosts({"n02", "n01", "login"}), "login, n[01-02]");
  EXPECT_EQ(FoldHosts({"gpu-7.a.example", "gpu-8.a.example", "gpu-10.a.example"}),
            "gpu-10.a.example, gpu-[7-8].a.example");
  EXPECT_EQ(FoldHosts({"10.0.0.4", "10.0.0.5"}), "10.0.0.[4-5]");
  EXPECT_EQ(FoldHosts({"n01", "n02", "n05"}), "n[01-02,05]");
  EXPECT_EQ(FoldHosts({"n01"}), "n01");
  EXPECT_EQ(FoldHosts({"", "99999999999999999999"}), ", 99999999999999999999");
}

TEST(Fold, LongListsOfNamesAreCounted) { EXPECT_EQ(FoldNames({"a", "b", "c"}, 2), "a, b and 1 more"); }

}  // namespace
}  // namespace firstfault
