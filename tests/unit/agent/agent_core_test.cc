// Agent and spool on real files: nothing lost and nothing doubled, wherever it is killed; bounds are counted.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "agent/agent.h"
#include "correlate/text.h"
#include "tests/unit/agent/temp_folder.h"

namespace firstfault::agent {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

// The spans of each source, put together; every byte must come once.
std::map<std::string, std::string> Texts(const Spool& spool) {
  std::map<uint32_t, std::string> paths;
  std::map<uint32_t, std::map<uint64_t, std::string>> spans;
  EXPECT_TRUE(spool.Read(1, [&](const v1::Batch& batch) {
    for (const v1::Record& record : batch.record()) {
      if (record.has_source_opened()) paths[record.source_opened().source()] = record.source_opened().path();
      if (record.has_span()) {
        EXPECT_TRUE(spans[record.span().source()].emplace(record.span().byte_offset(), record.span().raw()).second);
      }
    }
    return true;
  }).ok());
  std::map<std::string, std::string> out;
  for (const auto& [source, path] : paths) {
    std::string& text = out[path];
    for (const auto& [offset, raw] : spans[source]) {
      EXPECT_EQ(offset, text.size()) << path;
      text += raw;
    }
  }
  return out;
}

AgentOptions All(const TempFolder& folder) {
  return {.job = "job", .attempt = 1, .globs = {folder.Path("*.log*")}, .ship = Ship::kAll, .patient = true};
}

TEST(Agent, LosesAndDoublesNothingWhereverItIsKilled) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    TempFolder folder;
    std::mt19937 random(seed);
    std::map<std::string, std::string> written;
    int64_t now = 0;
    int number = 0;
    for (int life = 0; life < 8; ++life) {
      auto spool = Spool::Open(folder.Path("spool"));
      ASSERT_TRUE(spool.ok()) << spool.status();
      Agent agent(BuiltInEngine(), All(folder), **spool);
      const auto settle = [&] {
        for (int64_t until = now + kTailsEveryNs + 2 * kSecondNs; now < until;) {
          while (agent.Poll({0, now})) now += kBatchNs;
          now += kSecondNs;
        }
      };
      for (int step = 0; step < 15; ++step) {
        const std::string name = Cat(random() % 2, ".log");
        const std::string text = Cat("line ", ++number, " ", std::string(random() % 500, 'x'), random() % 4 == 0 ? "" : "\n");
        folder.Append(name, text);
        written[folder.Path(name)] += text;
        if (random() % 8 == 0) {
          settle();
          std::filesystem::rename(folder.Path(name), folder.Path(Cat(name, ".", number)));
        }
        if (random() % 2 == 0) agent.Poll({0, now});
        now += static_cast<int64_t>(random() % 3) * kSecondNs / 50;
      }
      if (life == 7) {
        settle();
        agent.Close({0, now}, "end");
      }
    }  // killed: what was gathered is gone
    auto spool = Spool::Open(folder.Path("spool"));
    ASSERT_TRUE(spool.ok());
    const auto texts = Texts(**spool);
    for (const auto& [path, text] : written) {
      ASSERT_TRUE(texts.contains(path)) << path;
      EXPECT_TRUE(texts.at(path) == text) << path << ", seed " << seed << ": " << texts.at(path).size() << " of " << text.size();
    }
  }
}

TEST(Agent, SaysThatALogWasReplacedWhileItWasAway) {
  TempFolder folder;
  folder.Append("a.log", "first\nsecond\n");
  {
    auto spool = Spool::Open(folder.Path("spool"));
    Agent agent(BuiltInEngine(), All(folder), **spool);
    for (int i = 0; i < 5; ++i) agent.Poll({0, i * kSecondNs});
    ASSERT_TRUE((*spool)->empty());
  }
  std::filesystem::remove(folder.Path("a.log"));
  folder.Append("a.log", "third\n");
  auto spool = Spool::Open(folder.Path("spool"));
  Agent agent(BuiltInEngine(), All(folder), **spool);
  for (int i = 0; i < 5; ++i) agent.Poll({0, i * kSecondNs});
  EXPECT_EQ(Texts(**spool).at(folder.Path("a.log")), "first\nsecond\nthird\n");
  bool said = false;
  uint64_t line = 0;
  ASSERT_TRUE((*spool)->Read(1, [&](const v1::Batch& batch) {
    for (const v1::Record& record : batch.record()) {
      said |= record.has_gap();
      if (record.span().raw() == "third\n") line = record.span().first_line();
    }
    return true;
  }).ok());
  EXPECT_TRUE(said);
  EXPECT_EQ(line, 3U);
}

TEST(Agent, BeginsAnewForAnotherAttempt) {
  TempFolder folder;
  folder.Append("a.log", "text\n");
  for (uint32_t attempt = 1; attempt <= 2; ++attempt) {
    auto spool = Spool::Open(folder.Path("spool"));
    AgentOptions options = All(folder);
    options.attempt = attempt;
    Agent agent(BuiltInEngine(), options, **spool);
    for (int i = 0; i < 5; ++i) agent.Poll({0, i * kSecondNs});
    uint64_t bytes = 0;
    ASSERT_TRUE((*spool)->Read(1, [&](const v1::Batch& batch) {
      if (batch.attempt() == attempt) {
        for (const v1::Record& record : batch.record()) bytes += record.span().raw().size();
      }
      return true;
    }).ok());
    EXPECT_EQ(bytes, 5U);
  }
}

TEST(Spool, DropsRoutineFirstAndSaysHowMuch) {
  TempFolder folder;
  constexpr uint64_t kBytesMax = 200'000;
  auto spool = Spool::Open(folder.Path("spool"), kBytesMax);
  ASSERT_TRUE(spool.ok());
  std::mt19937 random(1);
  std::map<int, uint64_t> kept;
  for (int i = 0; i < 1000; ++i) {
    v1::Record record;
    std::string raw(1000, '\0');
    for (char& c : raw) c = static_cast<char>(random());
    record.mutable_span()->set_raw(raw);
    record.mutable_span()->set_reason(i % 2 == 0 ? v1::Span::MATCH : v1::Span::TAIL);
    (*spool)->Add(0, record);
    ASSERT_TRUE((*spool)->Commit({}).ok());
  }
  EXPECT_LE((*spool)->bytes(), kBytesMax + kBatchBytes);
  uint64_t gaps = 0;
  const auto count = [&] {
    kept.clear();
    gaps = 0;
    return (*spool)->Read(1, [&](const v1::Batch& batch) {
      for (const v1::Record& record : batch.record()) {
        if (record.has_span()) ++kept[record.span().reason()];
        gaps += record.gap().records();
      }
      return true;
    });
  };
  ASSERT_TRUE(count().ok());
  EXPECT_GT(kept[v1::Span::MATCH], kept[v1::Span::TAIL] + 20);
  const uint64_t before = kept[v1::Span::MATCH] + kept[v1::Span::TAIL];
  EXPECT_EQ((*spool)->dropped_records(), 1000 - before);
  // Room again: the loss is said.
  (*spool)->Acknowledge((*spool)->next_sequence() - 1);
  v1::Record record;
  record.mutable_span()->set_reason(v1::Span::MATCH);
  (*spool)->Add(0, record);
  ASSERT_TRUE((*spool)->Commit({}).ok());
  ASSERT_TRUE(count().ok());
  EXPECT_GT(gaps, 0U);
}

TEST(Spool, KeepsItsStateBehindEveryAcknowledgement) {
  TempFolder folder;
  {
    auto spool = Spool::Open(folder.Path("spool"));
    for (uint32_t i = 1; i <= 2 * kTrimBatches; ++i) {
      v1::Record record;
      record.mutable_gap();
      (*spool)->Add(0, record);
      v1::SpoolState state;
      state.set_next_source(i);
      ASSERT_TRUE((*spool)->Commit(state).ok());
    }
    (*spool)->Acknowledge(2 * kTrimBatches);
    EXPECT_TRUE((*spool)->all_acknowledged());
  }
  auto spool = Spool::Open(folder.Path("spool"));
  EXPECT_EQ((*spool)->state().next_source(), 2 * kTrimBatches);
  EXPECT_EQ((*spool)->next_sequence(), 2 * kTrimBatches + 1);
}

}  // namespace
}  // namespace firstfault::agent
