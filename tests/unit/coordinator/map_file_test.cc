#include "coordinator/map_file.h"

#include <gtest/gtest.h>

namespace firstfault {
namespace {

SourceInfo Source(const char* path) {
  SourceInfo info;
  info.path = path;
  return info;
}

TEST(MapFile, OverridesWhatTheNameSays) {
  const auto map = SourceMap::Parse("hosts.map",
                                    "# layout of 2026-01-02\n"
                                    "\n"
                                    "*.out   job=88121\r\n"
                                    "n01/*\thost=n01  node_rank=0 # first\n"
                                    "r7.out rank=7 local_rank=3 attempt=2 stream=stderr job=9");
  ASSERT_TRUE(map.ok()) << map.status();
  SourceInfo info = Source("logs/n01/a/r7.out");
  info.host = Known{"x", "file name"};
  map->Apply(&info);
  EXPECT_EQ(info.host->value, "n01");
  EXPECT_EQ(info.host->by, "--map");
  EXPECT_EQ(info.node_rank->value, "0");
  EXPECT_EQ(info.rank->value, "7");
  EXPECT_EQ(info.stream->value, "stderr");
  EXPECT_EQ(info.job->value, "9");  // the last line wins
}

TEST(MapFile, AGlobWithoutASlashIsAboutTheFileName) {
  const auto map = SourceMap::Parse("m", "n01* host=n01\na/b.log rank=1");
  for (const auto& [path, host, rank] : {std::tuple{"n01.log", true, false},
                                         {"x/n01.log", true, false},
                                         {"n01/x.log", false, false},
                                         {"a/b.log", false, true},
                                         {"x/a/b.log", false, true},
                                         {"xa/b.log", false, false}}) {
    SourceInfo info = Source(path);
    map->Apply(&info);
    EXPECT_EQ(info.host.has_value(), host) << path;
    EXPECT_EQ(info.rank.has_value(), rank) << path;
  }
}

TEST(MapFile, NamesLinesThatMatchNothing) {
  const auto map = SourceMap::Parse("m", "a.log rank=1\n\nb.log rank=2");
  const SourceInfo info = Source("x/a.log");
  EXPECT_EQ(map->UnusedLines({&info}), std::vector<std::string>{"m:3"});
}

TEST(MapFile, ErrorsNameTheLineAndTheRemedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n*.log hst=n01", "m:1: 'a' has no key=value"},
      {"*.log hst=n01", "m:1: 'hst' is no key; use host, rank"},
      {"*.log rank=three", "m:1: 'rank=three' is no number from 0 upward"},
      {"*.log rank=-1", "is no number"},
      {"*.log rank=99999999999", "is no number"},
      {"*.log host=", "'host=' has no value"},
      {"*.log host", "'host' has no value"},
      {"*.log stream=both", "is neither stdout nor stderr"},
      {"a.log rank=1 rank=2", "m:1: 'rank=2' contradicts 'rank=1' of m:1"},
      {"a.log host=a job=7\n*.log rank=3\na.log job=7 host=b", "m:3: 'host=b' contradicts 'host=a' of m:1"},
  };
  for (const auto& [text, message] : cases) {
    const auto map = SourceMap::Parse("m", text);
    ASSERT_FALSE(map.ok()) << text;
    EXPECT_NE(std::string(map.status().message()).find(message), std::string::npos) << map.status();
  }
  EXPECT_EQ(SourceMap::Load("/no/such/map").status().code(), absl::StatusCode::kNotFound);
}

TEST(Timezone, OffsetsOfHosts) {
  constexpr int64_t kJanuary = 1'767'225'600'000'000'000, kJuly = 1'782'864'000'000'000'000;  // 2026
  const std::tuple<const char*, int64_t, std::optional<int>> cases[] = {
      {"n03=+02:00", kJanuary, 120}, {"n03=-05:30", kJanuary, -330},      {"n03=UTC", kJanuary, 0},
      {"*=Z", kJanuary, 0},          {"n0?=Europe/Berlin", kJanuary, 60}, {"n03=Europe/Berlin", kJuly, 120},
      {"n04=+01:00", kJanuary, {}},
  };
  for (const auto& [flag, modified_ns, minutes] : cases) {
    const auto rule = ParseZoneRule(flag);
    ASSERT_TRUE(rule.ok()) << rule.status();
    SourceInfo info = Source("x");
    info.host = Known{"n03", "file name"};
    info.modified_ns = modified_ns;
    ApplyZones({*rule}, 0, &info);
    EXPECT_EQ(info.zone_minutes, minutes) << flag;
  }
  for (const char* flag :
       {"n03", "=UTC", "n03=", "n03=+2", "n03=+02:60", "n03=+02:00x", "n03=Mars/Olympus"}) {
    EXPECT_EQ(ParseZoneRule(flag).status().code(), absl::StatusCode::kInvalidArgument) << flag;
  }
}

TEST(Timezone, TwoZonesOfOneHostAreAMistake) {
  const auto rules = ParseZoneRules({"*=UTC", "n03=+01:00", "n04=UTC", "n03=+02:00"});
  EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(rules.status().message(), "--timezone n03=+02:00 contradicts --timezone n03=+01:00; keep one of them");
  EXPECT_TRUE(ParseZoneRules({"*=UTC", "n03=+01:00", "n03=+01:00"}).ok());
}

TEST(Timezone, RulesThatFitNoHostAreTold) {
  const auto rules = ParseZoneRules({"*=UTC", "n03=+01:00", "n3=+01:00"});
  SourceInfo info = Source("x");
  info.host = Known{"n03", "file name"};
  EXPECT_EQ(UnusedZones(*rules, {&info}), std::vector<std::string>{"n3=+01:00"});
}

}  // namespace
}  // namespace firstfault
