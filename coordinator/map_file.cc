#include "coordinator/map_file.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "correlate/text.h"
#include "correlate/utf8.h"

namespace firstfault {
namespace {

// A line for each of 4,096 ranks is a fifth of it.
constexpr size_t kMapBytesMax = 1 << 20;

enum class ValueForm { kText, kNumber, kStream };

struct KeyRow {
  std::string_view key;
  std::optional<Known> SourceInfo::*field;
  ValueForm form;
};

constexpr KeyRow kKeys[] = {
    {"host", &SourceInfo::host, ValueForm::kText},
    {"rank", &SourceInfo::rank, ValueForm::kNumber},
    {"local_rank", &SourceInfo::local_rank, ValueForm::kNumber},
    {"node_rank", &SourceInfo::node_rank, ValueForm::kNumber},
    {"job", &SourceInfo::job, ValueForm::kText},
    {"attempt", &SourceInfo::attempt, ValueForm::kNumber},
    {"stream", &SourceInfo::stream, ValueForm::kStream},
};

// What is wrong with a value, or nothing.
std::string_view Complaint(ValueForm form, std::string_view value) {
  const auto number = ParseNumber<int32_t>(value);
  if (value.empty()) return "has no value";
  if (form == ValueForm::kNumber && (!number || *number < 0)) return "is no number from 0 upward";
  if (form == ValueForm::kStream && value != "stdout" && value != "stderr")
    return "is neither stdout nor stderr";
  return {};
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  std::string_view rest = Trim(line.substr(0, line.find('#')));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    words.push_back(rest.substr(0, end));
    rest = Trim(rest.substr(end));
  }
  return words;
}

bool GlobMatches(const std::string& glob, const std::string& path) {
  const auto matches_from = [&](size_t start) { return fnmatch(glob.c_str(), path.c_str() + start, 0) == 0; };
  if (glob.find('/') == std::string::npos) return matches_from(path.rfind('/') + 1);  // npos + 1 is 0
  if (matches_from(0)) return true;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (matches_from(slash + 1)) return true;
  }
  return false;
}

bool Fits(const ZoneRule& rule, const SourceInfo& info) {
  return fnmatch(rule.host.c_str(), info.host ? info.host->value.c_str() : "", 0) == 0;
}

}  // namespace

absl::StatusOr<SourceMap> SourceMap::Parse(std::string_view name, std::string_view text) {
  SourceMap map;
  // By glob and key: the value, and the line that gives it.
  std::map<std::pair<std::string_view, std::string_view>, std::pair<std::string_view, std::string>> given;
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = Words(line);
    if (words.empty()) continue;
    Line parsed{Cat(name, ":", number), std::string(words[0]), {}};
    bool lossy = false;
    ToUtf8(line, &lossy);
    if (lossy) return absl::InvalidArgumentError(Cat(parsed.place, ": is not UTF-8"));
    const auto error = [&](const std::string& what) {
      return absl::InvalidArgumentError(Cat(parsed.place, ": ", what));
    };
    if (words.size() == 1) return error(Cat("'", words[0], "' has no key=value; write for example rank=3"));
    for (size_t i = 1; i < words.size(); ++i) {
      const size_t equals = std::min(words[i].find('='), words[i].size());
      const std::string_view key = words[i].substr(0, equals);
      const std::string_view value = words[i].substr(std::min(equals + 1, words[i].size()));
      const auto* row = std::find_if(std::begin(kKeys), std::end(kKeys),
                                     [&](const KeyRow& candidate) { return candidate.key == key; });
      if (row == std::end(kKeys)) {
        return error(
            Cat("'", key, "' is no key; use host, rank, local_rank, node_rank, job, attempt or stream"));
      }
      if (const auto complaint = Complaint(row->form, value); !complaint.empty()) {
        return error(Cat("'", words[i], "' ", complaint));
      }
      const auto [before, fresh] = given.try_emplace({words[0], key}, value, parsed.place);
      if (!fresh && before->second.first != value) {
        return error(Cat("'", words[i], "' contradicts '", key, "=", before->second.first, "' of ", before->second.second,
                         " for the same files; keep one of them"));
      }
      parsed.fields.emplace_back(row->field, value);
    }
    map.lines_.push_back(std::move(parsed));
  }
  return map;
}

absl::StatusOr<SourceMap> SourceMap::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(Cat("--map ", path, ": ", std::strerror(errno), "; give a readable file"));
  std::string text(kMapBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return absl::NotFoundError(Cat("--map ", path, " cannot be read; give a readable file"));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMapBytesMax) {
    return absl::InvalidArgumentError(Cat("--map ", path, " is larger than ", kMapBytesMax, " bytes; name files by patterns"));
  }
  return Parse(path, text);
}

void SourceMap::Apply(SourceInfo* info) const {
  for (const Line& line : lines_) {
    if (!GlobMatches(line.glob, info->path)) continue;
    for (const auto& [field, value] : line.fields) info->*field = Known{value, "--map"};
  }
}

std::vector<std::string> SourceMap::UnusedLines(const std::vector<const SourceInfo*>& sources) const {
  std::vector<std::string> out;
  for (const Line& line : lines_) {
    const bool used = std::any_of(sources.begin(), sources.end(),
                                  [&](const SourceInfo* info) { return GlobMatches(line.glob, info->path); });
    if (!used) out.push_back(line.place);
  }
  return out;
}

absl::StatusOr<ZoneRule> ParseZoneRule(std::string_view flag) {
  const size_t equals = flag.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        Cat("--timezone ", flag, ": write HOST=ZONE, for example 'n03=+02:00' or '*=UTC'"));
  }
  ZoneRule rule{std::string(flag), std::string(flag.substr(0, equals)), absl::UTCTimeZone()};
  const std::string zone(flag.substr(equals + 1));
  if (zone == "UTC" || zone == "Z") return rule;
  int hours = 0, minutes = 0, length = 0;
  char sign = 0;
  if (std::sscanf(zone.c_str(), "%c%2d:%2d%n", &sign, &hours, &minutes, &length) == 3 && length == 6 &&
      zone.size() == 6 && (sign == '+' || sign == '-') && hours >= 0 && hours <= 14 && minutes >= 0 &&
      minutes < 60) {
    const int east = (hours * 60 + minutes) * 60;
    rule.zone = absl::FixedTimeZone(sign == '-' ? -east : east);
    return rule;
  }
  if (!zone.empty() && zone.front() != '+' && zone.front() != '-' && absl::LoadTimeZone(zone, &rule.zone)) {
    return rule;
  }
  return absl::InvalidArgumentError(
      Cat("--timezone ", flag, ": '", zone,
          "' is no known zone; use UTC, +hh:mm or a name such as Europe/Berlin"));
}

absl::StatusOr<std::vector<ZoneRule>> ParseZoneRules(const std::vector<std::string>& flags) {
  std::vector<ZoneRule> rules;
  for (const std::string& flag : flags) {
    auto rule = ParseZoneRule(flag);
    if (!rule.ok()) return rule.status();
    for (const ZoneRule& other : rules) {
      if (other.host != rule->host || other.zone == rule->zone) continue;
      return absl::InvalidArgumentError(Cat("--timezone ", flag, " contradicts --timezone ", other.flag, "; keep one of them"));
    }
    rules.push_back(*std::move(rule));
  }
  return rules;
}

std::vector<std::string> UnusedZones(const std::vector<ZoneRule>& rules, const std::vector<const SourceInfo*>& sources) {
  std::vector<std::string> out;
  for (const ZoneRule& rule : rules) {
    const bool used = std::any_of(sources.begin(), sources.end(), [&](const SourceInfo* info) { return Fits(rule, *info); });
    if (!used) out.push_back(rule.flag);
  }
  return out;
}

void ApplyZones(const std::vector<ZoneRule>& rules, int64_t now_ns, SourceInfo* info) {
  for (const ZoneRule& rule : rules) {
    if (!Fits(rule, *info)) continue;
    const absl::Time when = absl::FromUnixNanos(info->modified_ns.value_or(now_ns));
    info->zone_minutes = rule.zone.At(when).offset / 60;
  }
}

}  // namespace firstfault
