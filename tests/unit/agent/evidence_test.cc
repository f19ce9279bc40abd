// Evidence: what is shipped, once, in bounded memory, and the same after a restart.
#include "agent/evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "correlate/text.h"

namespace firstfault::agent {
namespace {

constexpr int64_t kMinuteNs = kStormEveryNs;
const char kFault[] =
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB";

class EvidenceTest : public testing::Test {
 protected:
  // Marks what is shipped; every byte at most once, and as it stands in the text, on the line that it says.
  void Check(const std::string& text) {
    shipped_.resize(text.size());
    for (const v1::Record& record : out_) {
      if (!record.has_span()) continue;
      const v1::Span& span = record.span();
      ASSERT_LE(span.byte_offset() + span.raw().size(), text.size());
      EXPECT_LE(span.raw().size(), kSpanBytesMax);
      EXPECT_TRUE(text.compare(span.byte_offset(), span.raw().size(), span.raw()) == 0);
      EXPECT_EQ(span.first_line(), 1 + static_cast<uint64_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(span.byte_offset()), '\n')));
      for (size_t i = 0; i < span.raw().size(); ++i) {
        EXPECT_FALSE(shipped_[span.byte_offset() + i]) << "shipped twice: byte " << span.byte_offset() + i;
        shipped_[span.byte_offset() + i] = true;
      }
    }
  }
  // Whether the line with this number was shipped whole.
  bool HasLine(const std::string& text, size_t number) const {
    size_t at = 0;
    for (size_t i = 1; i < number; ++i) at = text.find('\n', at) + 1;
    for (; at < text.size() && text[at] != '\n'; ++at) {
      if (!shipped_[at]) return false;
    }
    return true;
  }
  std::string Lines(size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += Cat("healthy line ", i, "\n");
    return out;
  }

  std::vector<PatternSet::Hit> hits_;
  std::vector<v1::Record> out_;
  std::vector<bool> shipped_;
};

TEST_F(EvidenceTest, ShipsHeadMatchWithItsSurroundingsAndTail) {
  const std::string text = Lines(1000) + kFault + "\n" + Lines(1000);
  Evidence evidence(BuiltInEngine(), hits_, 1, Ship::kMatches);
  evidence.Feed(0, text, &out_);
  evidence.Tail(&out_);
  Check(text);
  struct Row {
    size_t line;
    bool shipped;
  };
  for (const Row& row : {Row{1, true}, Row{64, true}, Row{65, false}, Row{900, false}, Row{901, true}, Row{1001, true},
                         Row{1065, true}, Row{1066, false}, Row{1901, false}, Row{1902, true}, Row{2001, true}}) {
    EXPECT_EQ(HasLine(text, row.line), row.shipped) << "line " << row.line;
  }
  EXPECT_TRUE(evidence.end_line() == 2002);
}

TEST_F(EvidenceTest, ShipsEveryByteInAllMode) {
  const std::string text = Lines(3000) + std::string(300'000, 'x') + "\n" + Lines(5) + "no newline";
  Evidence evidence(BuiltInEngine(), hits_, 1, Ship::kAll);
  for (size_t at = 0; at < text.size(); at += 777) evidence.Feed(0, std::string_view(text).substr(at, 777), &out_);
  evidence.Flush(0, &out_);
  Check(text);
  EXPECT_EQ(std::count(shipped_.begin(), shipped_.end(), true), static_cast<int64_t>(text.size()));
}

TEST_F(EvidenceTest, CountsStorms) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += Cat("[rank3]: ", kFault, "\n", Lines(70));
  Evidence evidence(BuiltInEngine(), hits_, 1, Ship::kMatches);
  evidence.Feed(0, text, &out_);
  evidence.Feed(kMinuteNs, Cat("[rank3]: ", kFault, "\n"), &out_);
  evidence.EndStorms(&out_);
  uint64_t counted = 0, gaps = 0;
  for (const v1::Record& record : out_) {
    counted += record.gap().records();
    gaps += record.has_gap();
  }
  EXPECT_EQ(counted, 1000 - kStormMax);
  EXPECT_EQ(gaps, 1U);
}

TEST_F(EvidenceTest, SaysWhereTheRanksStand) {
  std::string text = Lines(200);
  Evidence evidence(BuiltInEngine(), hits_, 1, Ship::kMatches);
  evidence.Feed(0, text, &out_);
  const std::string more = Lines(50) + "[rank0]: step 41 loss 2.0\n[rank1]: step 40 loss 2.0\n[rank0]: step 42 loss 2.0\n";
  evidence.Feed(kProgressEveryNs, more, &out_);
  text += more;
  Check(text);
  EXPECT_FALSE(HasLine(text, 251));
  EXPECT_TRUE(HasLine(text, 252));
  EXPECT_TRUE(HasLine(text, 253));
}

TEST_F(EvidenceTest, CutsLinesAsTheScannerDoes) {
  const std::string text = Lines(100) + std::string(3 * kLineBytesMax, 'x') + kFault + "\n" + Lines(100) + kFault + "\n";
  Evidence evidence(BuiltInEngine(), hits_, 1, Ship::kMatches);
  for (size_t at = 0; at < text.size(); at += 100'000) evidence.Feed(0, std::string_view(text).substr(at, 100'000), &out_);
  evidence.Tail(&out_);
  Check(text);
  EXPECT_FALSE(HasLine(text, 101));
  EXPECT_TRUE(HasLine(text, 202));
}

// Killed anywhere and started again from its state, it ships the same bytes, none of them twice.
TEST_F(EvidenceTest, GoesOnFromItsState) {
  for (const Ship ship : {Ship::kMatches, Ship::kAll}) {
    for (uint32_t seed = 1; seed <= 10; ++seed) {
      std::mt19937 random(seed);
      std::string text;
      while (text.size() < 600'000) text += random() % 300 == 0 ? Cat(kFault, "\n") : Lines(1 + random() % 50);
      out_.clear();
      shipped_.clear();
      Evidence whole(BuiltInEngine(), hits_, 1, ship);
      whole.Feed(0, text, &out_);
      whole.Tail(&out_);
      Check(text);
      const std::vector<bool> expected = std::exchange(shipped_, {});
      out_.clear();
      EvidenceState state;
      while (state.offset < text.size()) {
        Evidence part(BuiltInEngine(), hits_, 1, ship, state);
        std::vector<v1::Record> made;
        for (int i = 0; i < 10 && part.end() < text.size(); ++i) {
          part.Feed(0, std::string_view(text).substr(part.end(), random() % 40'000), &made);
        }
        if (part.end() == text.size()) {
          part.Tail(&made);
          out_.insert(out_.end(), made.begin(), made.end());
          break;
        }
        if (random() % 3 == 0) continue;  // not durable: as if it had never been
        out_.insert(out_.end(), made.begin(), made.end());
        state = part.StateFrom(0);
      }
      Check(text);
      EXPECT_TRUE(shipped_ == expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace firstfault::agent
