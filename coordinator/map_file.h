// map_file.h: what the user knows about the sources better than their names: --map and --timezone.
//
// Why:     file names are free; two lines of a map turn an unreadable layout into ranks and hosts.
// Model:   each line is "GLOB key=value...". A glob with a slash is matched against the whole path and its
//          endings at a slash, one without against the file name; "*" also matches slashes. Where several
//          lines give the same key, the last one wins: the general ones go first. Two values of one key for the
//          same glob, or two zones of one host, are a mistake. What a map says overrides everything else.
// Errors:  InvalidArgument with file, line and what to write instead; NotFound where the file is missing.
// Threads: immutable after parsing.
// Example: "n03/*.out  host=n03 node_rank=2   # the spare"
#ifndef FIRSTFAULT_COORDINATOR_MAP_FILE_H_
#define FIRSTFAULT_COORDINATOR_MAP_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "correlate/event.h"

namespace firstfault {

class SourceMap {
 public:
  // `name` is the file's, for messages.
  static absl::StatusOr<SourceMap> Parse(std::string_view name, std::string_view text);
  static absl::StatusOr<SourceMap> Load(const std::string& path);

  void Apply(SourceInfo* info) const;
  // "hosts.map:3" for each line that matches none of the sources: most likely a typing error.
  std::vector<std::string> UnusedLines(const std::vector<const SourceInfo*>& sources) const;

 private:
  struct Line {
    std::string place;
    std::string glob;
    std::vector<std::pair<std::optional<Known> SourceInfo::*, std::string>> fields;
  };
  std::vector<Line> lines_;
};

// --timezone HOST=ZONE. HOST is a glob, so "*=UTC" is all sources, those without a host included; ZONE is
// UTC, Z, +hh:mm, or a name such as Europe/Berlin.
struct ZoneRule {
  std::string flag;  // as given
  std::string host;
  absl::TimeZone zone;
};
absl::StatusOr<ZoneRule> ParseZoneRule(std::string_view flag);
absl::StatusOr<std::vector<ZoneRule>> ParseZoneRules(const std::vector<std::string>& flags);
// The flags that fit the host of none of the sources.
std::vector<std::string> UnusedZones(const std::vector<ZoneRule>& rules, const std::vector<const SourceInfo*>& sources);

// Sets `zone_minutes` where a rule matches, the last one winning. A named zone has the offset of the time
// when the source was last written; of `now_ns` where that is not known.
void ApplyZones(const std::vector<ZoneRule>& rules, int64_t now_ns, SourceInfo* info);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_MAP_FILE_H_
