// Literals: the same occurrences as a plain search, wherever they stand.
#include "correlate/literal_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace firstfault {
namespace {

using Found = std::vector<std::pair<uint64_t, uint32_t>>;  // end, literal

Found Find(const LiteralFinder& finder, std::string_view text) {
  std::vector<LiteralFinder::Hit> hits;
  finder.Find(text, &hits);
  Found out;
  for (const LiteralFinder::Hit& hit : hits) out.emplace_back(hit.end, hit.literal);
  return out;
}

Found PlainSearch(const std::vector<LiteralFinder::Literal>& literals, std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  Found out;
  for (uint32_t i = 0; i < literals.size(); ++i) {
    for (size_t at = text.find(literals[i].text); at != std::string::npos; at = text.find(literals[i].text, at + 1)) {
      out.emplace_back(at + literals[i].text.size(), i);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(LiteralFinder, FindsAtEveryPlaceOfTexts) {
  const std::vector<LiteralFinder::Literal> literals = {{"sockets", 0}, {"connection reset", 9}};
  const LiteralFinder finder(literals);
  for (size_t before = 0; before < 40; ++before) {
    for (size_t behind = 0; behind < 20; ++behind) {
      for (const char* word : {"Sockets", "CONNECTION reset"}) {
        const std::string text = std::string(before, '.') + word + std::string(behind, '.');
        EXPECT_EQ(Find(finder, text), PlainSearch(literals, text)) << text;
        EXPECT_EQ(Find(finder, text).size(), 1u) << text;
      }
    }
  }
}

TEST(LiteralFinder, BytesThatOnlyResembleAreNoHit) {
  // With bit 0x20 set '*' is a newline's twin, '_' DEL's and '[' the brace's.
  const LiteralFinder finder({{"a*b_c[d", 0}});
  EXPECT_EQ(Find(finder, "............A*B_C[D......").size(), 1u);
  for (const char* text : {"............a\nb_c[d......", "............a*b\x7f" "c[d......", "............a*b_c{d......"}) {
    EXPECT_TRUE(Find(finder, text).empty()) << text;
  }
}

TEST(LiteralFinder, CutLiteralsAndShortTextsAreNoHit) {
  const LiteralFinder finder({{"watchdog got stuck", 4}});
  const std::string text = "watchdog got stuck";
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_TRUE(Find(finder, text.substr(0, length)).empty());
    EXPECT_TRUE(Find(finder, "padding padding " + text.substr(text.size() - length)).empty());
  }
  EXPECT_TRUE(Find(LiteralFinder({}), text).empty());
}

// Few letters, so that literals overlap, share keys and are prefixes of each other all the time.
TEST(LiteralFinder, EqualsAPlainSearchOnRandomTexts) {
  std::mt19937 random(20260401);
  const auto word = [&](size_t length) {
    std::string out;
    for (size_t i = 0; i < length; ++i) out += "abA\n"[random() % 4];
    return out;
  };
  size_t total = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<LiteralFinder::Literal> literals;
    for (int i = 0; i < 12; ++i) {
      std::string text = word(LiteralFinder::kKeyBytes + random() % 5);
      std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c == 'A' ? 'b' : c; });
      const bool known = std::any_of(literals.begin(), literals.end(), [&](const auto& l) { return l.text == text; });
      const uint32_t key = static_cast<uint32_t>(random() % (text.size() - LiteralFinder::kKeyBytes + 1));
      if (!known) literals.push_back({text, key});
    }
    const LiteralFinder finder(literals);
    const std::string text = word(random() % 9000);
    const Found found = Find(finder, text);
    ASSERT_EQ(found, PlainSearch(literals, text)) << "round " << round;
    total += found.size();
  }
  EXPECT_GT(total, 500u);
}

}  // namespace
}  // namespace firstfault
