#include "tests/golden/variations.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "correlate/incident.h"
#include "correlate/parse/prefix.h"
#include "correlate/parse/stamp.h"
#include "correlate/text.h"

namespace firstfault::golden {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHabitLines = 64;
// How far from its deciding line the other lines of an event are looked for.
constexpr size_t kBlockReach = 100;
// What a rotated part must have: nobody rotates after a handful of lines, and habits need a few to show.
constexpr size_t kRotatedLinesMin = 16;
constexpr int kNoiseOneIn = 8;
constexpr int64_t kDaySeconds = 86'400;

size_t Below(Random& random, size_t limit) { return random() % limit; }

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

PrefixHabits HabitsOf(const std::vector<std::string_view>& lines) {
  const size_t count = std::min(lines.size(), kHabitLines);
  return LearnHabits({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count)});
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) out += Cat(i == 0 ? "" : "\n", lines[i]);
  return out;
}

const SourceDigest* DigestOf(const std::vector<SourceDigest>& digests, std::string_view path) {
  for (const SourceDigest& digest : digests) {
    if (digest.info.path == path) return &digest;
  }
  return nullptr;
}

std::string HostOf(const SourceDigest& digest) {
  return digest.info.host ? ShortHost(digest.info.host->value) : "";
}

// Indices of the lines of an event.
std::set<size_t> LinesOf(const Event& event, const std::vector<std::string_view>& lines) {
  std::set<size_t> out;
  const size_t at = event.at.line - 1;
  if (at >= lines.size()) return out;
  out.insert(at);
  const size_t begin = at > kBlockReach ? at - kBlockReach : 0,
               end = std::min(lines.size(), at + kBlockReach);
  for (const std::string& text : event.block) {
    if (Trim(text).empty()) continue;
    for (size_t i = begin; i < end; ++i) {
      if (lines[i].substr(0, kTextBytesMax) == text) out.insert(i);
    }
  }
  return out;
}

// Indices of lines before which something else may be written: a logger speaks anew, and no event is torn.
std::vector<size_t> Seams(const SourceDigest& digest, const std::vector<std::string_view>& lines) {
  std::set<size_t> inside;
  for (const Event& event : digest.events) {
    const std::set<size_t> own = LinesOf(event, lines);
    if (own.empty()) continue;
    for (size_t i = *own.begin() + 1; i <= *own.rbegin() + 1; ++i) inside.insert(i);
  }
  const PrefixHabits habits = HabitsOf(lines);
  std::vector<size_t> out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Peeled peeled = Peel(lines[i], habits);
    if (peeled.dialects.size() != peeled.outer && !inside.contains(i)) out.push_back(i);
  }
  return out;
}

bool IsPlainText(const LogFile& file) {
  const std::string_view start = Trim(std::string_view(file.bytes).substr(0, 64));
  return !start.empty() && start.front() != '{' && !file.path.ends_with(".csv") &&
         !file.path.ends_with(".json");
}

// The runs of one kind of letter of a name: "gpuA-07" has "gpu" and "A".
template <typename F>
std::string MapRuns(const std::string& name, F map) {
  std::string out;
  for (size_t i = 0; i < name.size();) {
    size_t end = i + 1;
    const auto kind = [](char c) {
      const auto u = static_cast<unsigned char>(c);
      return std::islower(u) ? 1 : std::isupper(u) ? 2 : 0;
    };
    while (end < name.size() && kind(name[end]) == kind(name[i])) ++end;
    const std::string run = name.substr(i, end - i);
    out += kind(name[i]) == 0 ? run : map(run);
    i = end;
  }
  return out;
}

bool HasMeaning(std::string_view run) {
  constexpr std::string_view kWords[] = {"bmc",  "gpu", "head", "host",  "ip",   "launcher", "master",
                                         "node", "pod", "rank", "slice", "task", "worker"};
  return run.size() < 2 || std::find(std::begin(kWords), std::end(kWords), run) != std::end(kWords);
}

std::string ReplaceNames(std::string_view text, const Names& names) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const std::pair<const std::string, std::string>* found = nullptr;
    if (i == 0 || !IsWord(text[i - 1])) {
      for (const auto& name : names) {
        const std::string& old = name.first;
        if (!text.substr(i).starts_with(old)) continue;
        const bool ends =
            !IsWord(old.back()) || i + old.size() == text.size() || !IsWord(text[i + old.size()]);
        if (ends && (found == nullptr || old.size() > found->first.size())) found = &name;
      }
    }
    if (found != nullptr) {
      out += found->second;
      i += found->first.size();
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// A stamp taken apart, moved, and printed in the same form.
struct Calendar {
  int64_t year = 2026;
  int month = 1, day = 1, hour = 0, minute = 0, second = 0;

  void Move(int64_t seconds) {
    const int64_t unix_seconds =
        DaysFromCivil(year, month, day) * kDaySeconds + hour * 3600 + minute * 60 + second + seconds;
    const std::string text = FormatUtc(unix_seconds * kSecondNs, 0);
    std::sscanf(text.c_str(), "%ld-%d-%d %d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  }
};

std::string Number(int64_t value, int width, char fill) {
  std::string out = std::to_string(value);
  while (static_cast<int>(out.size()) < width) out.insert(out.begin(), fill);
  return out;
}

// A host tells its rank logs apart by file name: "rank 3" or a local rank.
struct RankLog {
  const SourceDigest* digest;
  std::string tag;  // what to put before each line
};

std::optional<RankLog> AsRankLog(const SourceDigest& digest) {
  if (digest.info.kind != SourceInfo::Kind::kRankLog) return std::nullopt;
  if (digest.info.rank) return RankLog{&digest, Cat("[rank", digest.info.rank->value, "]: ")};
  if (digest.info.local_rank) return RankLog{&digest, Cat("[default", digest.info.local_rank->value, "]:")};
  return std::nullopt;
}

std::string TaggedText(const RankLog& log, const std::string& bytes) {
  std::string out;
  for (const std::string_view line : Split(bytes, '\n')) {
    if (line.empty()) continue;
    const Prefix prefix = Peel(line).prefix;
    const bool tagged = prefix.rank || prefix.local_rank || prefix.task;
    out += Cat(tagged ? "" : log.tag, line, "\n");
  }
  return out;
}

// Where a joined log of this host belongs, so that the host is still known.
std::string JoinedPath(const SourceDigest& digest) {
  const fs::path path = digest.info.path;
  if (!digest.info.host) return (path.parent_path() / "joined.log").string();
  if (digest.info.host->by != "folder") {
    return (path.parent_path() / Cat("host=", digest.info.host->value) / "joined.log").string();
  }
  fs::path folder = path.parent_path();
  while (!folder.empty() && folder.filename().string() != digest.info.host->value)
    folder = folder.parent_path();
  return (folder / "joined.log").string();
}

}  // namespace

std::set<std::string> HostsOf(const std::vector<SourceDigest>& digests,
                              const std::vector<std::string>& more) {
  std::set<std::string> out;
  const auto add = [&](std::string_view host) {
    const std::string name = ShortHost(host);
    if (name.size() < 3 || !std::isalpha(static_cast<unsigned char>(name[0]))) return;
    const bool numbered = std::any_of(name.begin(), name.end(), IsDigit);
    const char before = name[name.size() - 2];
    const bool lettered = before == '-' || (std::islower(static_cast<unsigned char>(before)) != 0 &&
                                            std::isupper(static_cast<unsigned char>(name.back())) != 0);
    if (numbered || lettered) out.insert(name);
  };
  for (const SourceDigest& digest : digests) add(HostOf(digest));
  for (const std::string& host : more) add(host);
  return out;
}

Names NewNames(const std::set<std::string>& hosts, Random& random) {
  constexpr std::string_view kConsonants = "bdfgkmprtvz", kVowels = "aeiou";
  std::map<std::string, std::string> runs;
  std::set<std::string> used;
  const auto map_run = [&](const std::string& run) {
    if (HasMeaning(run)) return run;
    std::string& fresh = runs[run];
    if (!fresh.empty()) return fresh;
    while (fresh.empty() || used.contains(fresh)) {
      fresh.clear();
      for (size_t i = 0; i < run.size(); ++i) {
        const std::string_view letters = i % 2 == 0 ? kConsonants : kVowels;
        const char c = letters[Below(random, letters.size())];
        fresh.push_back(std::isupper(static_cast<unsigned char>(run[i])) ? static_cast<char>(c - 'a' + 'A')
                                                                         : c);
      }
    }
    used.insert(fresh);
    return fresh;
  };
  Names out;
  for (const std::string& host : hosts) {
    const std::string fresh = MapRuns(host, map_run);
    if (fresh != host) out[host] = fresh;
  }
  return out;
}

Names SwappedNames(const std::set<std::string>& hosts, Random& random) {
  // Among names that differ in digits or in a single letter only: others tell the reader something.
  std::map<std::string, std::vector<std::string>> alike;
  for (const std::string& host : hosts) {
    std::string shape = MapRuns(host, [](const std::string& run) { return run.size() == 1 ? "@" : run; });
    std::replace_if(shape.begin(), shape.end(), IsDigit, '#');
    bool ordinal = false;  // the number of a pod or of a JAX task is its place in the job
    MapRuns(host, [&](const std::string& run) {
      ordinal |= run.size() > 1 && HasMeaning(run) && run != "gpu" && run != "node" && run != "host";
      return run;
    });
    if (!ordinal) alike[shape].push_back(host);
  }
  Names out;
  for (const auto& [shape, names] : alike) {
    if (names.size() < 2) continue;
    const size_t by = 1 + Below(random, names.size() - 1);
    for (size_t i = 0; i < names.size(); ++i) out[names[i]] = names[(i + by) % names.size()];
  }
  return out;
}

LogFolder RenameHosts(const LogFolder& folder, const Names& names) {
  Names all = names;
  // Slurm's compact lists: "gx[01-03]".
  for (const auto& [old, fresh] : names) {
    const std::string old_stem = old.substr(0, old.find_last_not_of("0123456789") + 1);
    const std::string fresh_stem = fresh.substr(0, fresh.find_last_not_of("0123456789") + 1);
    if (old_stem.size() > 1 && old_stem != fresh_stem) all[old_stem + "["] = fresh_stem + "[";
  }
  LogFolder out;
  for (const LogFile& file : folder)
    out.push_back({ReplaceNames(file.path, all), ReplaceNames(file.bytes, all)});
  return out;
}

std::string ShiftStamps(std::string_view text, int64_t seconds) {
  static const RE2* const stamp = new RE2(
      R"(\b(?:(\d{4})([-/])(\d\d)[-/](\d\d)([ T_])|([IWEFDC])(\d\d)(\d\d) |)"
      R"(([A-Z][a-z]{2}) ([ \d]\d) |(\d\d)-(\d\d) ))"
      R"((\d\d):(\d\d):(\d\d))",
      RE2::Latin1);
  enum {
    kAll,
    kYear,
    kDash,
    kMonth,
    kDay,
    kGap,
    kLevel,
    kGlogMonth,
    kGlogDay,
    kName,
    kNameDay,
    kShortMonth,
    kShortDay,
    kHour,
    kMinute,
    kSecond,
    kGroups
  };
  std::string out;
  re2::StringPiece rest(text.data(), text.size());
  re2::StringPiece found[kGroups];
  while (stamp->Match(rest, 0, rest.size(), RE2::UNANCHORED, found, kGroups)) {
    const auto number = [&](int group) {
      const std::string_view digits = Trim({found[group].data(), found[group].size()});
      return ParseNumber<int>(digits).value_or(0);
    };
    const auto has = [&](int group) { return !found[group].empty(); };
    out.append(rest.data(), static_cast<size_t>(found[kAll].data() - rest.data()));
    Calendar c;
    const auto* month =
        std::find(kMonths.begin(), kMonths.end(), std::string_view(found[kName].data(), found[kName].size()));
    if (has(kYear)) c.year = number(kYear);
    c.month = has(kYear)    ? number(kMonth)
              : has(kLevel) ? number(kGlogMonth)
              : has(kName)  ? static_cast<int>(month - kMonths.begin()) + 1
                            : number(kShortMonth);
    c.day = number(has(kYear) ? kDay : has(kLevel) ? kGlogDay : has(kName) ? kNameDay : kShortDay);
    c.hour = number(kHour);
    c.minute = number(kMinute);
    c.second = number(kSecond);
    if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31) {  // not a date after all
      out.append(found[kAll].data(), found[kAll].size());
    } else {
      c.Move(seconds);
      const std::string clock =
          Cat(Number(c.hour, 2, '0'), ":", Number(c.minute, 2, '0'), ":", Number(c.second, 2, '0'));
      const std::string mm = Number(c.month, 2, '0'), dd = Number(c.day, 2, '0');
      if (has(kYear)) {
        const std::string dash(found[kDash]), gap(found[kGap]);
        out += Cat(Number(c.year, 4, '0'), dash, mm, dash, dd, gap, clock);
      } else if (has(kLevel)) {
        out += Cat(std::string(found[kLevel]), mm, dd, " ", clock);
      } else if (has(kName)) {
        const char fill = found[kNameDay][0] == '0' ? '0' : ' ';
        out += Cat(kMonths[static_cast<size_t>(c.month - 1)], " ", Number(c.day, 2, fill), " ", clock);
      } else {
        out += Cat(mm, "-", dd, " ", clock);
      }
    }
    rest.remove_prefix(static_cast<size_t>(found[kAll].data() - rest.data()) + found[kAll].size());
  }
  out.append(rest.data(), rest.size());
  return out;
}

std::optional<LogFolder> ShiftHost(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                   const std::set<std::string>& hosts, const std::string& host,
                                   int64_t seconds) {
  LogFolder out = folder;
  bool any = false;
  for (LogFile& file : out) {
    const SourceDigest* digest = DigestOf(digests, file.path);
    if (digest == nullptr || HostOf(*digest) != host) continue;
    const std::vector<std::string_view> lines = Split(file.bytes, '\n');
    const PrefixHabits habits = HabitsOf(lines);
    const bool alone = std::all_of(lines.begin(), lines.end(), [&](std::string_view line) {
      const std::string named = ShortHost(Peel(line, habits).prefix.host);
      return named == host || !hosts.contains(named);
    });
    if (!alone) continue;
    std::string shifted = ShiftStamps(file.bytes, seconds);
    any |= shifted != file.bytes;
    file.bytes = std::move(shifted);
  }
  if (!any) return std::nullopt;
  return out;
}

std::vector<std::string> NoiseLines(const Engine& engine) {
  std::vector<std::string> all(BuiltInPages()->merged().healthy().begin(),
                               BuiltInPages()->merged().healthy().end());
  for (const Signature& signature : BuiltInPages()->signatures()) {
    if (signature.role != Role::kBenign) continue;
    all.insert(all.end(), signature.row.positive().begin(), signature.row.positive().end());
  }
  std::vector<std::string> out;
  ScanBuffers buffers;
  for (const std::string& line : all) {
    SourceScanner scanner(engine, buffers, {});
    scanner.Feed(line + "\n");
    const SourceDigest digest = scanner.Finish();
    const Peeled peeled = Peel(line);
    const bool placed = peeled.prefix.length > 0 || digest.writers.size() != 1 || digest.writers[0].rank;
    const bool says_more = !digest.events.empty() || !digest.facts.empty() || !digest.progress.empty() ||
                           !digest.memory.empty();
    if (!placed && !says_more && !line.empty() && line[0] != ' ') out.push_back(line);
  }
  return out;
}

std::optional<LogFolder> AddNoise(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                  const std::vector<std::string>& noise, Random& random) {
  LogFolder out = folder;
  bool any = false;
  for (LogFile& file : out) {
    const SourceDigest* digest = DigestOf(digests, file.path);
    if (digest == nullptr || digest->info.kind == SourceInfo::Kind::kKernelLog || !IsPlainText(file))
      continue;
    const std::vector<std::string_view> lines = Split(file.bytes, '\n');
    const std::vector<size_t> seams = Seams(*digest, lines);
    if (seams.empty()) continue;
    const PrefixHabits habits = HabitsOf(lines);
    const size_t always = seams[Below(random, seams.size())];
    std::vector<std::string> changed;
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool seam = std::binary_search(seams.begin(), seams.end(), i);
      if (seam && (i == always || Below(random, kNoiseOneIn) == 0)) {
        const Peeled peeled = Peel(lines[i], habits);
        changed.push_back(
            Cat(lines[i].substr(0, peeled.starts[peeled.outer]), noise[Below(random, noise.size())]));
        any = true;
      }
      changed.emplace_back(lines[i]);
    }
    file.bytes = Joined(changed);
  }
  if (!any) return std::nullopt;
  return out;
}

std::optional<LogFolder> Rotate(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                const std::string& path, Random& random) {
  LogFolder out = folder;
  for (LogFile& file : out) {
    const SourceDigest* digest = DigestOf(digests, file.path);
    if (file.path != path || digest == nullptr || !IsPlainText(file)) continue;
    const std::vector<std::string_view> lines = Split(file.bytes, '\n');
    std::vector<size_t> seams = Seams(*digest, lines);
    std::erase_if(seams,
                  [&](size_t i) { return i < kRotatedLinesMin || i + kRotatedLinesMin > lines.size(); });
    if (seams.empty()) return std::nullopt;
    const size_t cut = seams[Below(random, seams.size())];
    const size_t bytes = static_cast<size_t>(lines[cut].data() - file.bytes.data());
    LogFile older{file.path + ".1", file.bytes.substr(0, bytes)};
    file.bytes.erase(0, bytes);
    out.push_back(std::move(older));
    return out;
  }
  return std::nullopt;
}

std::optional<LogFolder> JoinRanks(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                   const std::string& path, Random& random) {
  std::vector<RankLog> logs;
  for (const SourceDigest& digest : digests) {
    if (const auto log = AsRankLog(digest)) logs.push_back(*log);
  }
  if (logs.size() < 2) return std::nullopt;
  const auto by_path = [&](const RankLog& log) { return log.digest->info.path == path; };
  const auto wanted = std::find_if(logs.begin(), logs.end(), by_path);
  const RankLog first = wanted != logs.end() ? *wanted : logs[Below(random, logs.size())];
  const auto text_of = [](const std::optional<Known>& known) { return known ? known->value : ""; };
  std::erase_if(logs, [&](const RankLog& log) {
    return log.tag == first.tag || HostOf(*log.digest) != HostOf(*first.digest) ||
           text_of(log.digest->info.stream) != text_of(first.digest->info.stream) ||
           text_of(log.digest->info.attempt) != text_of(first.digest->info.attempt);
  });
  if (logs.empty()) return std::nullopt;
  const RankLog second = logs[Below(random, logs.size())];
  LogFile joined{JoinedPath(*first.digest), ""};
  LogFolder out;
  for (const LogFile& file : folder) {
    const bool is_first = file.path == first.digest->info.path,
               is_second = file.path == second.digest->info.path;
    if (is_first || is_second) {
      joined.bytes += TaggedText(is_first ? first : second, file.bytes);
    } else {
      out.push_back(file);
    }
  }
  out.push_back(std::move(joined));
  return out;
}

bool RemoveEvents(const std::vector<SourceDigest>& digests, uint32_t signature, LogFolder* folder) {
  bool any = false;
  for (LogFile& file : *folder) {
    const SourceDigest* digest = DigestOf(digests, file.path);
    if (digest == nullptr) continue;
    const std::vector<std::string_view> lines = Split(file.bytes, '\n');
    std::set<size_t> gone;
    for (const Event& event : digest->events) {
      if (event.signature == signature) gone.merge(LinesOf(event, lines));
    }
    if (gone.empty()) continue;
    std::vector<std::string> kept;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!gone.contains(i)) kept.emplace_back(lines[i]);
    }
    file.bytes = Joined(kept);
    any = true;
  }
  return any;
}

bool RemoveLine(std::string_view path, std::string_view text, LogFolder* folder) {
  for (LogFile& file : *folder) {
    if (file.path != path) continue;
    const size_t at = file.bytes.find(text);
    if (at == std::string::npos || text.empty()) return false;
    const size_t newline = file.bytes.find('\n', at);
    file.bytes.erase(at, newline == std::string::npos ? std::string::npos : newline - at + 1);
    return true;
  }
  return false;
}

}  // namespace firstfault::golden
