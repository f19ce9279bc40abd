// Map files and zone flags of any content are read or refused with a message.
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/map_file.h"
#include "correlate/check.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using firstfault::SourceInfo;
  const std::string_view text = firstfault::fuzz::Text(data, size);
  const auto map = firstfault::SourceMap::Parse("hosts.map", text);
  FF_CHECK(map.ok() || !map.status().message().empty());
  std::vector<SourceInfo> infos;
  for (const char* path : {"", "train.log", "run/n03/rank_7.out", "logs.tar.gz/n01/*/[a].log"}) {
    infos.emplace_back().path = path;
  }
  if (map.ok()) {
    std::vector<const SourceInfo*> pointers;
    for (SourceInfo& info : infos) {
      map->Apply(&info);
      FF_CHECK(!info.rank || info.rank->by == "--map");
      pointers.push_back(&info);
    }
    map->UnusedLines(pointers);
  }
  const std::vector<std::string_view> lines = firstfault::Split(text, '\n');
  std::vector<firstfault::ZoneRule> zones;
  for (const std::string_view line : lines) {
    auto rule = firstfault::ParseZoneRule(std::string(line));
    if (rule.ok()) zones.push_back(*std::move(rule));
  }
  for (SourceInfo& info : infos) firstfault::ApplyZones(zones, 1'767'225'600'000'000'000, &info);
  return 0;
}
