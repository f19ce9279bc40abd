// Paths and first lines of any content give ranks that are numbers and hosts that are words of them.
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/host_names.h"
#include "coordinator/map_file.h"
#include "coordinator/source_names.h"
#include "correlate/check.h"
#include "correlate/text.h"

// Input: paths, one a line; after a NUL the first bytes of the first source; after another a map file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using firstfault::SourceInfo;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> sections = firstfault::Split(input, '\0');
  std::string_view head = sections.size() > 1 ? sections[1] : std::string_view();
  std::vector<SourceInfo> infos;
  for (const std::string_view path : firstfault::Split(sections[0], '\n')) {
    infos.push_back(firstfault::NameSource(std::string(path), head));
    head = {};
  }
  std::vector<SourceInfo*> pointers;
  for (SourceInfo& info : infos) pointers.push_back(&info);
  firstfault::NameHostsBySiblings(pointers);
  for (const SourceInfo& info : infos) {
    for (const auto& known : {info.rank, info.local_rank, info.node_rank, info.attempt}) {
      FF_CHECK(!known || firstfault::ParseNumber<int64_t>(known->value).value_or(-1) >= 0);
    }
    FF_CHECK(!info.host || !info.host->value.empty());
    FF_CHECK(!info.host || info.host->by == "content" ||
             info.path.find(info.host->value) != std::string::npos);
  }
  if (sections.size() > 2) {
    const auto map = firstfault::SourceMap::Parse("map", sections[2]);
    if (map.ok()) map->Apply(pointers[0]);
  }
  return 0;
}
