#include "coordinator/source_names.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "coordinator/host_names.h"
#include "coordinator/kernel_log.h"
#include "coordinator/source_name_rows.h"
#include "correlate/check.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

using Kind = SourceInfo::Kind;
using Part = SourceNameRow::Part;

constexpr int kGroupsMax = 8;

// The rows of one part, tried in one pass.
class RowSet {
 public:
  explicit RowSet(Part part) : set_(RE2::Options(), RE2::ANCHOR_BOTH) {
    for (const SourceNameRow& row : SourceNameRows()) {
      if (row.part != part) continue;
      const std::string pattern =
          part == Part::kFile ? Cat("(?:.*/)?", "(?:", row.pattern, ")") : std::string(row.pattern);
      std::string error;
      FF_CHECK(set_.Add(pattern, &error) == static_cast<int>(rows_.size()));
      rows_.emplace_back(row, pattern);
    }
    FF_CHECK(set_.Compile());
  }

  // The first row that matches the whole text, and its groups that took part; nullptr if none does.
  const SourceNameRow* Match(std::string_view text,
                             std::map<std::string_view, std::string_view>* groups) const {
    thread_local std::vector<int> hits;
    if (!set_.Match(text, &hits)) return nullptr;
    const Row& row = rows_[static_cast<size_t>(*std::min_element(hits.begin(), hits.end()))];
    const RE2& regex = row.Regex();
    re2::StringPiece values[kGroupsMax];
    RE2::Arg args[kGroupsMax];
    const RE2::Arg* pointers[kGroupsMax];
    for (int i = 0; i < kGroupsMax; ++i) {
      args[i] = &values[i];
      pointers[i] = &args[i];
    }
    if (!RE2::FullMatchN(text, regex, pointers, regex.NumberOfCapturingGroups())) return nullptr;
    for (const auto& [name, index] : regex.NamedCapturingGroups()) {
      if (values[index - 1].data() != nullptr) (*groups)[name] = values[index - 1];
    }
    return &row.row;
  }

 private:
  // The set says which row it is; its groups are read with the row's own expression, compiled on first use.
  struct Row {
    Row(const SourceNameRow& row_in, std::string pattern_in) : row(row_in), pattern(std::move(pattern_in)) {}
    const RE2& Regex() const {
      std::call_once(once, [this] { regex = std::make_unique<RE2>(pattern); });
      FF_CHECK(regex->NumberOfCapturingGroups() <= kGroupsMax);
      return *regex;
    }
    const SourceNameRow& row;
    const std::string pattern;
    mutable std::once_flag once;
    mutable std::unique_ptr<RE2> regex;
  };
  RE2::Set set_;
  std::deque<Row> rows_;  // rows are not moved
};

const RowSet& FileRows() {
  static const RowSet& rows = *new RowSet(Part::kFile);
  return rows;
}
const RowSet& FolderRows() {
  static const RowSet& rows = *new RowSet(Part::kFolder);
  return rows;
}

using Groups = std::map<std::string_view, std::string_view>;

// Numbers without leading zeros; nullopt where it is none that the engine can hold.
std::optional<std::string> Number(std::string_view text) {
  const auto value = ParseNumber<int32_t>(text);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

std::optional<std::string> JobName(std::string_view text) {
  return text == "none" ? std::nullopt : std::optional<std::string>(text);  // torchrun's default
}

std::optional<std::string> HostName(std::string_view text) {
  const bool has_letter = text.find_first_not_of("0123456789.-") != std::string_view::npos;
  return has_letter && text.size() > 1 && !IsLogWord(text) ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<std::string> StreamName(std::string_view text) {
  return text.ends_with("err") ? "stderr" : "stdout";
}

struct FieldRow {
  std::string_view group;
  std::optional<Known> SourceInfo::*field;
  std::optional<std::string> (*value)(std::string_view);
};

constexpr FieldRow kFields[] = {
    {"job", &SourceInfo::job, JobName},
    {"host", &SourceInfo::host, HostName},
    {"rank", &SourceInfo::rank, Number},
    {"local_rank", &SourceInfo::local_rank, Number},
    {"node_rank", &SourceInfo::node_rank, Number},
    {"stream", &SourceInfo::stream, StreamName},
    {"attempt", &SourceInfo::attempt, Number},
};

// torchrun's own words: the source is one node's, not one rank's.
bool IsNodeLog(std::string_view head) {
  static constexpr std::string_view kMarks[] = {"torch/distributed/elastic", "torch.distributed.elastic",
                                                "torch.distributed.run", "[default0]:", "torchrun"};
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; });
}

void Apply(const SourceNameRow& row, Groups groups, const char* by, std::string_view head, SourceInfo* info) {
  if (info->kind == Kind::kUnknown) info->kind = row.kind;
  if (const auto task = groups.find("task"); task != groups.end()) {
    const bool node = IsNodeLog(head);
    groups[node ? "node_rank" : "rank"] = task->second;
    if (node && info->kind == Kind::kRankLog) info->kind = Kind::kMergedLog;
  }
  if (const auto pod = groups.find("pod"); pod != groups.end()) {
    static const RE2& ordinal = *new RE2(PodOrdinalPattern());
    if (!info->host) info->host = Known{std::string(pod->second), by};
    re2::StringPiece replica, index;
    if (RE2::FullMatch(pod->second, ordinal, &replica, &index)) {
      groups["node_rank"] = replica.empty() ? index : replica;
    }
  }
  for (const FieldRow& field : kFields) {
    const auto group = groups.find(field.group);
    std::optional<Known>& known = info->*field.field;
    if (group == groups.end() || known) continue;
    if (auto value = field.value(group->second)) known = Known{*std::move(value), by};
  }
}

std::string_view WithoutPacking(std::string_view name) {
  static constexpr std::string_view kEndings[] = {".gz",  ".zst", ".xz",  ".bz2",  ".lz4", ".tar",
                                                  ".tgz", ".zip", ".txz", ".tzst", ".tbz2"};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : kEndings) {
      if (!name.ends_with(ending)) continue;
      name.remove_suffix(ending.size());
      again = true;
    }
  }
  return name;
}

}  // namespace

PathParts SplitPath(std::string_view path) {
  PathParts parts;
  for (const std::string_view part : Split(path, '/')) {
    if (!part.empty() && part != "." && part != "..") parts.folders.push_back(WithoutPacking(part));
  }
  if (!parts.folders.empty()) {
    parts.file = parts.folders.back();
    parts.folders.pop_back();
  }
  return parts;
}

std::string_view FileStem(std::string_view file) {
  static const RE2& end = *new RE2(
      "(.*?)(?:[._-](?:stdout|stderr|out|err))?(?:\\.(?:log|txt|out|err|jsonl?))*(?:\\.[0-9]{1,3}|-[0-9]{8})"
      "?");
  re2::StringPiece stem;
  return RE2::FullMatch(file, end, &stem) ? std::string_view(stem) : file;
}

std::string_view HostBeforeRank(std::string_view path) {
  Groups groups;
  if (FileRows().Match(WithoutPacking(path), &groups) == nullptr) return {};
  return groups["maybe_host"];
}

SourceInfo NameSource(std::string path, std::string_view head) {
  SourceInfo info;
  info.path = std::move(path);
  Groups groups;
  if (const SourceNameRow* row = FileRows().Match(WithoutPacking(info.path), &groups)) {
    Apply(*row, groups, "file name", head, &info);
  }
  const PathParts parts = SplitPath(info.path);
  for (auto folder = parts.folders.rbegin(); folder != parts.folders.rend(); ++folder) {
    groups.clear();
    if (const SourceNameRow* row = FolderRows().Match(*folder, &groups)) {
      Apply(*row, groups, "folder", head, &info);
    }
  }
  NameKernelLog(head, &info);
  if (info.kind == Kind::kKernelLog) info.rank = info.local_rank = std::nullopt;  // a kernel has no rank
  return info;
}

}  // namespace firstfault
