#include "correlate/parse/prefix.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <utility>

#include "correlate/check.h"
#include "correlate/parse/stamp.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

#define DATE R"((?P<date>\d{4}[-/]\d\d[-/]\d\d))"
#define CLOCK R"((?P<clock>\d\d:\d\d:\d\d))"
#define FRACTION R"((?:[.,](?P<fraction>\d{1,9}))?)"
#define ZONE R"((?P<zone>Z|[+-]\d\d:?\d\d)?)"
#define STAMP DATE "[ T_]" CLOCK FRACTION ZONE
#define LEVEL R"((?P<level>TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE))"
#define WEEKDAY "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
#define MONTH "(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#define HOST R"((?P<host>[A-Za-z0-9][A-Za-z0-9._-]*))"

// When a row may apply.
enum class Needs : uint8_t {
  kNothing,
  kTaskColon,    // learned, or another known prefix follows
  kHostColon,    // likewise
  kRankBracket,  // learned only: "[3] " is also a line number
  kLineNumber,   // learned only
};

constexpr uint8_t kKernel = 1, kLauncher = 2, kDropFraction = 4;

struct Dialect {
  const char* name;
  int layer;           // outermost first; a row may follow rows of its own or an outer layer
  const char* first;   // bytes it can begin with: "a-z" ranges and single bytes
  const char* regex;   // anchored where the last prefix ended
  uint8_t flags = 0;
  Needs needs = Needs::kNothing;
  const char* has = "";  // text that every match has, for rows that would often be tried in vain
};

// Layers: 1 collector, 2 multiplexer, 3 launcher tee, 4 library rank, 5 clock of the logger,
// 6 its level, name and file, 7 rank of a rank-aware logger, 8 process group.
constexpr Dialect kDialects[] = {
    // --- collectors
    {"cri", 1, "0-9", DATE "T" CLOCK FRACTION ZONE R"( (?:stdout|stderr) (?P<partial>[FP]) ?)"},
    {"kubectl", 1, "[", R"(\[pod/(?P<host>[^/\]\n ]+)/[^\]\n ]+\] )"},
    {"determined", 1, "[", R"(\[)" STAMP R"(\] [0-9a-f]{4,64} (?:\[rank=(?P<rank>\d+)\] )?\|\| )"},
    {"syslog.iso", 1, "0-9",
     DATE "T" CLOCK FRACTION ZONE " " HOST R"( (?P<ident>[A-Za-z0-9_./-]+)(?:\[(?P<pid>\d+)\])?: )"},
    {"syslog", 1, "A-Z",
     MONTH R"( {1,2}(?P<day>\d{1,2}) )" CLOCK FRACTION " " HOST
           R"( (?P<ident>[A-Za-z0-9_./()-]+)(?:\[(?P<pid>\d+)\])?: )"},
    {"compose", 1, "a-z", R"([a-z0-9][a-z0-9_.-]*-\d+ +\| )", 0, Needs::kNothing, " | "},
    {"margin", 1, " |", R"( {0,4}\| {1,2})"},
    // Names of pods: of a Deployment, of a training job's replica, of a JobSet (job and index in front of the suffix).
    {"stern", 1, "a-z",
     R"((?P<host>[a-z0-9-]+-[a-z0-9]{9,10}-[a-z0-9]{5}|[a-z0-9-]+-(?:worker|master|launcher)-\d+|[a-z0-9-]+-\d+-\d+-[a-z0-9]{5}) [a-z0-9-]+ )"},
    {"line.number", 1, "[", R"(\[\d{1,9}\] )", 0, Needs::kLineNumber},
    {"kmsg", 1, "0-9", R"(\d{1,4},\d+,(?P<boot_us>\d+),[^;\n]{1,40};)", kKernel},
    {"proc.kmsg", 1, "<", R"(<\d{1,3}>)", kKernel},
    {"dmesg.x", 1, "a-z", R"((?:kern|user|daemon|auth|syslog) *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: )", kKernel},
    {"dmesg", 2, "[", R"(\[ *(?P<boot>\d+\.\d{1,9})\](?:\[ *[TC]\d+\])? )", kKernel},
    {"dmesg.T", 2, "[", R"(\[)" WEEKDAY " " MONTH R"( +(?P<day>\d{1,2}) )" CLOCK R"( (?P<year>\d{4})\] )", kKernel},
    {"dmesg.d", 2, "[", R"(\[ *(?P<boot>\d+\.\d{1,9}) < *(?P<delta>\d+\.\d{1,9})>\] )", kKernel},
    {"dmesg.delta", 2, "[", R"(\[ *\+(?P<delta>\d+\.\d{1,9})\] )", kKernel},
    {"dmesg.delta.short", 2, "[", R"(\[ *< *(?P<delta>\d+\.\d{1,9})>\] )", kKernel},
    {"dmesg.e", 2, "[", R"(\[)" MONTH R"((?P<day>\d{1,2}) (?P<clock>\d\d:\d\d)\] )", kKernel},
    // --- multiplexers
    {"srun", 2, " 0-9P", R"((?:P\d+ )? {0,6}(?P<task>\d{1,6}): ?)", 0, Needs::kTaskColon},
    {"mpi.tag", 2, "[",
     R"(\[[^\],\n]+,(?P<rank>\d+)\](?:\[(?P<host>[^:\]\n]+):(?P<pid>\d+)\])?<(?:stdout|stderr|stddiag)>: ?)"},
    {"mpi.tag.time", 2, "[",
     R"(\[[^\],\n]+,(?P<rank>\d+)\]\[)" STAMP R"(\]<(?:stdout|stderr)>: ?)"},
    {"horovod", 2, "[", R"(\[(?P<rank>\d+)\]<(?:stdout|stderr)>: ?)"},
    {"hydra", 2, "[", R"(\[(?P<rank>\d{1,6})\] )", 0, Needs::kRankBracket},
    {"vllm.worker", 2, "(",
     R"(\((?:VllmWorker|Worker|RayWorkerWrapper|WorkerProc)[A-Za-z]*(?:(?:[_ ]DP\d+)?(?:[_ ]PP\d+)?[_ ]TP(?P<rank_tp>\d+)(?:[_ ]EP\d+)?| rank=(?P<rank>\d+))? pid=(?P<pid>\d+)(?:, ip=[0-9a-fA-F.:]+)?\) )"},
    {"ray", 2, "(",
     R"(\((?:[A-Za-z_][^()\n=]{0,80} )?pid=(?P<pid>\d+)(?:, ip=[0-9a-fA-F.:]+)?\) ?)"},
    {"raylet", 2, "(", R"(\((?:raylet|autoscaler|gcs_server)[^()\n]{0,60}?(?:, ip=[0-9a-fA-F.:]+)?\) )"},
    {"skypilot", 2, "(",
     R"(\([^,()\n]{1,60}, rank=(?P<node_rank>\d+), pid=(?P<pid>\d+)(?:, ip=[0-9a-fA-F.:]+)?\) )"},
    {"torchx", 2, "a-z", R"([a-z_]{2,20}/(?P<task>\d{1,5}) )", 0, Needs::kTaskColon},
    {"pdsh", 2, "A-Za-z", R"((?P<host>[A-Za-z][A-Za-z0-9.-]{0,60}): )", 0, Needs::kHostColon},
    {"ts", 2, "0-9", R"(\d\d:\d\d:\d\d\.\d{3,6} )"},
    // --- launcher tee; the rank row comes first, since "[rank3]:" has the same shape
    {"rank", 4, "[", R"(\[rank(?P<rank>\d+)\]:? ?)"},
    {"tee", 3, "[", R"(\[[a-zA-Z_][a-zA-Z_-]*(?P<local_rank>\d+)\]:)"},
    {"accelerate", 4, "[", R"(\[RANK (?P<rank>\d+)\] )"},
    {"lightning", 4, "[", R"(\[rank: (?P<local_rank>\d+)\] )"},
    {"rank.word", 4, "rR[", R"((?:\[rank[ =:]{1,2}(?P<rank>\d+)(?:/(?P<world_size>\d+))?\]|[Rr](?:ank|ANK)[ =_]?(?P<rank_word>\d+)(?:: | \| | - ))(?:: | - | )?)"},
    // --- PyTorch C++ logging
    {"torch.cpp", 5, "[",
     R"(\[(?P<severity>[IWEFV])(?P<mmdd>\d{3,4}) )" CLOCK R"((?:\.(?P<fraction>\d{1,9}))? [A-Za-z0-9_./-]+:\d+\] ?)", kDropFraction},
    {"torch.cpp.old", 5, "[", R"(\[(?P<severity>[IWEFV]) [A-Za-z0-9_./-]+\.(?:cpp|cc|h|hpp|cu|cuh):\d+\] ?)"},
    // --- torchrun's own logger: no rank, the agent speaks
    {"elastic.log", 5, "VIWEC",
     R"((?P<severity>[VIWEC])(?P<mmdd>\d{4}) )" CLOCK R"(\.(?P<fraction>\d{6}) +\d+ (?:site-packages/)?torch/distributed/(?:elastic|run|launcher)[^\]\n ]*\.py:\d+\] ?)", kLauncher},
    {"elastic.bracket", 5, "[",
     R"(\[)" STAMP R"(\] torch\.distributed\.(?:elastic|run|launcher)[a-zA-Z0-9_.]*: \[)" LEVEL R"(\] ?)", kLauncher},
    {"elastic.old", 5, "A-Z", LEVEL R"(:torch\.distributed\.(?:elastic|run|launcher)[a-zA-Z0-9_.]*:)", kLauncher},
    {"torch.py", 5, "VIWEC",
     R"((?P<severity>[VIWEC])(?P<mmdd>\d{4}) )" CLOCK R"(\.(?P<fraction>\d{6}) +\d+ [^\]\n ]+\.py:\d+\] ?(?:\[[^\]\n]{0,24}\] )?)"},
    // --- absl, glog, klog, gRPC, TSL
    {"absl.early", 5, "IWEF", R"((?P<severity>[IWEF])0000 00:00:(?P<epoch>\d{9,11}\.\d{1,9}) +\d+ [^\]\n ]+:\d+\] ?)"},
    {"absl", 5, "IWEFD",
     R"((?P<severity>[IWEFD])(?P<mmdd>\d{4}) )" CLOCK R"(\.(?P<fraction>\d{6,9}) +\d+ [^\]\n ]+:\d+\] ?)"},
    {"tsl", 5, "0-9", DATE " " CLOCK R"(\.(?P<fraction>\d{6}): (?P<severity>[IWEF]) [^\]\n ]+:\d+\] ?)"},
    // --- NCCL
    {"nccl", 5, "[A-Za-z0-9",
     R"((?:\[)" STAMP R"(\] )?)" HOST
     R"(:(?P<pid>\d+):\d+ (?:\[(?P<device>\d+)\] )?(?:\d+\.\d+ )?(?:[A-Za-z0-9_./]+:\d+ )?(?:\([^)\n]*\) )?NCCL (?P<level>INFO|WARN|TRACE|ABORT|CALL) ?)", 0, Needs::kNothing, "NCCL "},
    // --- framework loggers with their own shape
    {"deepspeed", 5, "[",
     R"(\[)" STAMP R"(\] \[)" LEVEL R"(\] (?:\[[^\]\n]+:\d+:[^\]\n]+\] )?(?:\[Rank (?P<rank>\d+)\] )?)"},
    {"nemo", 5, "[", R"(\[NeMo (?P<severity>[IWED]) )" STAMP R"( [^\]\n]{1,120}?(?: rank:(?P<rank>\d+))?\] ?)"},
    {"hydra.log", 5, "[", R"(\[)" STAMP R"(\]\[[^\]\n]{1,80}\]\[)" LEVEL R"(\] - )"},
    {"transformers", 5, "[", R"(\[)" LEVEL R"(\|[^\]\n]{1,80}\] )" STAMP R"( >> )"},
    {"fabricmanager", 5, "[",
     R"(\[)" MONTH R"( +(?P<day>\d{1,2}) (?P<year>\d{4}) )" CLOCK R"(\] \[)" LEVEL R"(\] \[tid \d+\] )"},
    {"ray.system", 5, "[", R"(\[)" STAMP R"( (?P<severity>[IWEC]) (?P<pid>\d+) \d+\] (?:\([a-z_]+\) )?[^ \n]+:\d+: )"},
    {"nvrx", 5, "0-9",
     STAMP R"( \[)" LEVEL R"(\] \[)" HOST R"(\] \[workload:(?P<rank>\d+)\((?P<local_rank>\d+)\)[^\]\n]{0,40}\] (?:[^ \n]+:\d+ )?)", 0, Needs::kNothing, "[workload:"},
    {"composer", 5, "0-9", STAMP R"(: rank(?P<rank>\d+)\[(?P<pid>\d+)\]\[[^\]\n]+\]: )" LEVEL R"(: [^:\n]+: )", 0, Needs::kNothing, ": rank"},
    {"sglang", 5, "[", R"(\[)" STAMP R"((?: DP\d+)?(?: PP\d+)? TP(?P<rank>\d+)(?: EP\d+)?\] )", 0, Needs::kNothing, " TP"},
    {"vllm", 5, "A-Z", LEVEL R"( (?P<month_day>\d\d-\d\d) )" CLOCK R"((?:\.\d+)? \[?[A-Za-z0-9_./]+\.py:\d+\]:? ?)"},
    {"jax.py", 5, "A-Z", LEVEL ":" STAMP R"(:jax[A-Za-z0-9_.]*:\d+: )"},
    {"submitit", 5, "s", R"(submitit )" LEVEL R"( \()" STAMP R"(\) - )"},
    {"containerd", 5, "t", R"(time=")" STAMP R"(" level=[a-z]+ msg=)"},
    // --- a bare clock, then level, logger and file in any common order
    {"bracket.time", 5, " [", R"( ?\[)" STAMP R"((?: [A-Za-z0-9 _.:/-]{1,40})?\] ?)"},
    {"asctime", 5, "0-9", STAMP R"((?:: | - | \| | ))"},
    {"level.pipe", 6, "A-Z", LEVEL R"( *\| [^|\n]{1,120}? (?:\||-) )"},
    {"level.root", 6, "a-zA-Z", R"([A-Za-z_][A-Za-z0-9_.]{0,60} - )" LEVEL R"( - )", 0, Needs::kNothing, " - "},
    {"level.logger", 6, "A-Z", LEVEL R"(:[A-Za-z_][A-Za-z0-9_.]{0,80}:)"},
    {"level.bracket", 6, "[", R"(\[)" LEVEL R"(\] ?)"},
    {"level.word", 6, "A-Z", LEVEL R"((?:: | - | ))"},
    {"file.bracket", 6, "[", R"(\[[A-Za-z0-9_./-]+\.(?:py|cc|cpp|h):\d+(?::[A-Za-z0-9_<>]+)?\] )"},
    // --- ranks of rank-aware loggers
    {"of.world", 7, "(", R"(\((?P<rank>\d{1,6})/(?P<world_size>\d{1,6})\) )"},
    {"rank.inner", 7, "[rR", R"((?:\[(?:)" HOST R"( )?rank[ =:]{0,2}(?P<rank>\d+)(?:/(?P<world_size>\d+))?(?:,? local(?:_rank)?[ =:](?P<local_rank>\d+))?\](?:: ?| \| | - | )?|[Rr]ank[ =](?P<rank_word>\d+)(?:: ?| \| | - )))"},
    // --- process group: the number is a rank inside the group
    // The id is local: different groups of one kind share it. The GUID is the group's.
    {"pg.guid", 8, "[", R"(\[PG ID \d+ PG GUID (?P<group>[^\]\n]*?) ?Rank (?P<group_rank>\d+)\] ?)"},
    {"pg", 8, "[", R"(\[PG (?P<group>[^\]\n ]+)(?: \([^)\n]*\))? Rank (?P<group_rank>\d+)\] ?)"},
    {"group.rank", 8, "[", R"(\[Rank (?P<group_rank>\d+)\] ?)"},
    {"c10d", 8, "[", R"(\[(?:c10d|Gloo|gloo)\] )"},
};

#undef DATE
#undef CLOCK
#undef FRACTION
#undef ZONE
#undef STAMP
#undef LEVEL
#undef WEEKDAY
#undef MONTH
#undef HOST

// What a named group of a dialect sets.
enum class Slot : uint8_t {
  kDate, kMmdd, kMonthDay, kMonth, kDay, kYear, kClock, kFraction, kZone, kEpoch, kBoot, kBootUs, kDelta,
  kRank, kLocalRank, kGroupRank, kTask, kNodeRank, kDevice, kPid, kWorldSize,
  kHost, kLevel, kGroup, kIdent, kPartial, kCount
};
constexpr std::pair<std::string_view, Slot> kSlots[] = {
    {"date", Slot::kDate}, {"mmdd", Slot::kMmdd}, {"month_day", Slot::kMonthDay}, {"month", Slot::kMonth},
    {"day", Slot::kDay}, {"year", Slot::kYear}, {"clock", Slot::kClock}, {"fraction", Slot::kFraction},
    {"zone", Slot::kZone}, {"epoch", Slot::kEpoch}, {"boot", Slot::kBoot}, {"boot_us", Slot::kBootUs},
    {"delta", Slot::kDelta}, {"rank", Slot::kRank}, {"rank_word", Slot::kRank}, {"rank_tp", Slot::kRank},
    {"local_rank", Slot::kLocalRank}, {"group_rank", Slot::kGroupRank}, {"task", Slot::kTask},
    {"node_rank", Slot::kNodeRank}, {"device", Slot::kDevice}, {"pid", Slot::kPid},
    {"world_size", Slot::kWorldSize}, {"host", Slot::kHost}, {"level", Slot::kLevel},
    {"severity", Slot::kLevel}, {"group", Slot::kGroup}, {"ident", Slot::kIdent},
    {"partial", Slot::kPartial},
};

using ByteSet = std::bitset<256>;

// One table row. Its expression is compiled on first use: a log uses a few of them.
struct CompiledDialect {
  const Dialect& row;
  std::vector<ByteSet> opening;  // what can stand at the first places of every match
  std::vector<Slot> slots;       // of its captures, in order; every capture has a name
  LazyRE2 re;

  // Cheap and certain: false means that the row cannot apply. Most rows fall here, without an expression run.
  bool MayApply(std::string_view rest) const {
    if (rest.size() < opening.size()) return false;
    for (size_t i = 1; i < opening.size(); ++i) {  // the index knows the first byte
      if (!opening[i].test(static_cast<unsigned char>(rest[i]))) return false;
    }
    return row.has[0] == '\0' || rest.find(row.has) != std::string_view::npos;
  }
};

std::vector<Slot> SlotsOf(std::string_view regex) {
  constexpr std::string_view kCapture = "(?P<";
  std::vector<Slot> out;
  for (size_t at = regex.find(kCapture); at != std::string_view::npos; at = regex.find(kCapture, at)) {
    at += kCapture.size();
    const std::string_view name = regex.substr(at, regex.find('>', at) - at);
    const auto* slot = std::find_if(std::begin(kSlots), std::end(kSlots),
                                    [&](const auto& entry) { return entry.first == name; });
    FF_CHECK(slot != std::end(kSlots));
    out.push_back(slot->second);
  }
  return out;
}

// The bytes of a class without its brackets: "a-z" ranges, escapes and single bytes, all but these after '^'.
ByteSet BytesOf(std::string_view spec) {
  ByteSet out;
  const bool negated = spec.starts_with('^');
  for (size_t i = negated; i < spec.size(); ++i) {
    if (spec[i] == '\\' && i + 1 < spec.size()) {
      ++i;
      out.set(spec[i] == 'n' ? '\n' : static_cast<unsigned char>(spec[i]));
      continue;
    }
    const bool range = i + 2 < spec.size() && spec[i + 1] == '-';
    for (int c = static_cast<unsigned char>(spec[i]); c <= static_cast<unsigned char>(spec[range ? i + 2 : i]); ++c) {
      out.set(static_cast<size_t>(c));
    }
    i += range ? 2 : 0;
  }
  return negated ? ~out : out;
}

// Where the class that opens at `at` ends: behind its bracket.
size_t ClassEnd(std::string_view regex, size_t at) {
  while (regex[++at] != ']') at += regex[at] == '\\';
  return at + 1;
}

// Whether the group that opens at `at` stands for its one text once: no alternatives, no count behind it.
bool IsPlainGroup(std::string_view regex, size_t at) {
  int depth = 0;
  for (; at < regex.size(); ++at) {
    if (regex[at] == '\\') {
      ++at;
    } else if (regex[at] == '[') {
      at = ClassEnd(regex, at) - 1;
    } else if (regex[at] == '(') {
      ++depth;
    } else if (regex[at] == ')' && --depth == 0) {
      break;
    } else if (regex[at] == '|' && depth == 1) {
      return false;
    }
  }
  return at + 1 >= regex.size() || std::string_view("?*+{").find(regex[at + 1]) == std::string_view::npos;
}

// What can stand at the first places of every match, as far as the expression fixes it. No row of the table has
// alternatives outside of a group.
std::vector<ByteSet> OpeningOf(std::string_view regex) {
  constexpr size_t kPlacesMax = 24;  // a date, a clock and what sets them apart
  std::vector<ByteSet> out;
  size_t at = 0;
  while (at < regex.size() && out.size() < kPlacesMax) {
    if (regex[at] == '(') {
      if (!IsPlainGroup(regex, at)) break;
      ++at;
      if (regex[at] == '?') at = regex.find_first_of(":>", at) + 1;
      continue;
    }
    if (regex[at] == ')') {
      ++at;
      continue;
    }
    ByteSet bytes;
    if (regex[at] == '[') {
      const size_t end = ClassEnd(regex, at);
      bytes = BytesOf(regex.substr(at + 1, end - at - 2));
      at = end;
    } else if (regex[at] == '\\') {
      bytes = regex[at + 1] == 'd' ? BytesOf("0-9") : BytesOf(regex.substr(at, 2));
      at += 2;
    } else {
      bytes.set(static_cast<unsigned char>(regex[at]));
      ++at;
    }
    const char count = at < regex.size() ? regex[at] : ' ';
    if (count == '?' || count == '*') break;
    size_t times = 1;
    if (count == '{') times = ParseNumber<size_t>(regex.substr(at + 1, regex.find_first_of(",}", at) - at - 1)).value_or(0);
    out.insert(out.end(), times, bytes);
    const bool fixed = count != '+' && (count != '{' || regex[regex.find_first_of(",}", at)] == '}');
    if (!fixed) break;
    if (count == '{') at = regex.find('}', at) + 1;
  }
  return out;
}

// The rows that can apply to a text, by its first byte, in the order of the table.
using DialectIndex = std::array<std::vector<const CompiledDialect*>, 256>;
const DialectIndex& Table() {
  static const DialectIndex* const table = [] {
    auto* out = new DialectIndex;
    for (const Dialect& row : kDialects) {
      const auto* dialect = new CompiledDialect{
          row, OpeningOf(row.regex), SlotsOf(row.regex), {row.regex, RE2::Latin1, {}, nullptr, {}}};
      ByteSet first = BytesOf(row.first);
      if (!dialect->opening.empty()) first &= dialect->opening[0];
      for (size_t c = 0; c < out->size(); ++c) {
        if (first.test(c)) (*out)[c].push_back(dialect);
      }
    }
    return out;
  }();
  return *table;
}

constexpr size_t kGroupsMax = 20;

using Captures = std::array<std::string_view, static_cast<size_t>(Slot::kCount)>;

// Whether some row that needs nothing applies at the start of `rest`.
bool KnownPrefixFollows(std::string_view rest) {
  if (rest.empty()) return false;
  for (const CompiledDialect* dialect : Table()[static_cast<unsigned char>(rest[0])]) {
    if (dialect->row.needs != Needs::kNothing || dialect->row.layer == 1) continue;
    // A bare level word is too common in prose to vouch for what stands before it.
    if (dialect->row.layer == 6 || !dialect->MayApply(rest)) continue;
    if (dialect->re->Match(rest, 0, rest.size(), RE2::ANCHOR_START, nullptr, 0)) return true;
  }
  return rest.starts_with("Traceback (most recent call last):") || rest.starts_with("srun: ") || rest.starts_with("slurmstepd: ");
}

bool Allowed(Needs needs, const PrefixHabits& habits, std::string_view rest) {
  switch (needs) {
    case Needs::kNothing: return true;
    case Needs::kTaskColon: return habits.task_colon || KnownPrefixFollows(rest);
    case Needs::kHostColon: return habits.host_colon || KnownPrefixFollows(rest);
    case Needs::kRankBracket: return habits.rank_bracket;
    case Needs::kLineNumber: return habits.line_number;
  }
  return false;
}

// A logger's level stands where other dialects print a host ("2026-01-02T03:04:05Z INFO loader: ...").
bool IsLevelWord(std::string_view word) {
  constexpr std::string_view kWords[] = {"TRACE", "DEBUG", "INFO",     "NOTICE", "WARN",
                                         "WARNING", "ERROR", "CRITICAL", "FATAL",  "SEVERE"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

char LevelLetter(std::string_view level) {
  if (level.empty()) return ' ';
  return level == "NOTICE" ? 'I' : level == "SEVERE" ? 'E' : level[0];
}

template <typename Number>
void SetOnce(std::optional<Number>* field, std::string_view text) {
  if (!text.empty() && !field->has_value()) *field = ParseNumber<Number>(text);
}
void SetOnce(std::string* field, std::string_view text) {
  if (field->empty()) *field = std::string(text);
}

void Apply(const Dialect& row, const Captures& captures, Prefix* out) {
  const auto get = [&](Slot slot) { return captures[static_cast<size_t>(slot)]; };
  SetOnce(&out->rank, get(Slot::kRank));
  SetOnce(&out->local_rank, get(Slot::kLocalRank));
  SetOnce(&out->group_rank, get(Slot::kGroupRank));
  SetOnce(&out->task, get(Slot::kTask));
  SetOnce(&out->node_rank, get(Slot::kNodeRank));
  SetOnce(&out->device, get(Slot::kDevice));
  SetOnce(&out->world_size, get(Slot::kWorldSize));
  SetOnce(&out->pid, get(Slot::kPid));
  SetOnce(&out->group, get(Slot::kGroup));
  // NCCL names its own host on every line: nearer to the writer than a relay's host.
  if (!get(Slot::kHost).empty() && (out->host.empty() || std::string_view(row.name) == "nccl")) {
    out->host = std::string(get(Slot::kHost));
  }
  if (!get(Slot::kLevel).empty()) out->level = std::string(1, LevelLetter(get(Slot::kLevel)));
  out->partial |= get(Slot::kPartial) == "P";
  out->kernel |= (row.flags & kKernel) != 0 || get(Slot::kIdent) == "kernel";
  out->launcher |= (row.flags & kLauncher) != 0;

  StampParts parts;
  parts.date = get(Slot::kDate);
  parts.mmdd = get(Slot::kMmdd);
  parts.month_day = get(Slot::kMonthDay);
  parts.month = get(Slot::kMonth);
  parts.day = get(Slot::kDay);
  parts.year = get(Slot::kYear);
  parts.clock = get(Slot::kClock);
  parts.fraction = get(Slot::kFraction);
  parts.zone = get(Slot::kZone);
  parts.epoch = get(Slot::kEpoch);
  parts.boot = get(Slot::kBoot);
  parts.boot_us = get(Slot::kBootUs);
  parts.delta = get(Slot::kDelta);
  parts.drop_fraction = (row.flags & kDropFraction) != 0;
  const std::optional<Stamp> stamp = StampFrom(parts);
  // The innermost clock is the writer's own; but a full wall clock is not given up for a boot clock.
  if (stamp && (!out->stamp || stamp->clock != Stamp::Clock::kBoot)) out->stamp = stamp;
}

bool IsWordByte(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Where a message proper may begin behind an exception class ("RuntimeError: ") or "what():".
void AddInnerStarts(std::string_view line, size_t message, std::vector<size_t>* starts) {
  static const RE2* const inner =
      new RE2(R"( *(?:what\(\): +|(?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Za-z_][A-Za-z0-9_]*(?:Error|Exception|Exit|Interrupt|Warning|Timeout|Iteration): ?))",
              RE2::Latin1);
  // Both forms go on with this byte behind their first word.
  const size_t word = std::min(line.find_first_not_of(' ', message), line.size());
  size_t end = word;
  while (end < line.size() && (IsWordByte(line[end]) || line[end] == '.')) ++end;
  if (end == line.size() || (line[end] != ':' && line[end] != '(')) return;
  size_t at = message;
  for (int depth = 0; depth < 3; ++depth) {
    re2::StringPiece found;
    const re2::StringPiece text(line.data(), line.size());
    if (!inner->Match(text, at, line.size(), RE2::ANCHOR_START, &found, 1) || found.empty()) return;
    at += found.size();
    starts->push_back(at);
  }
}

}  // namespace

PrefixHabits LearnHabits(const std::vector<std::string_view>& lines) {
  // A habit must hold on nearly all lines of a sample; a few wrapped or foreign lines are normal.
  constexpr double kShare = 0.8;
  constexpr size_t kSampleMin = 4;
  static const RE2* const task = new RE2(R"((?:P\d+ )? {0,6}\d{1,6}: )", RE2::Latin1);
  static const RE2* const host = new RE2(R"([A-Za-z][A-Za-z0-9.-]*[0-9-][A-Za-z0-9.-]*: )", RE2::Latin1);
  static const RE2* const bracket = new RE2(R"(\[(\d{1,9})\] )", RE2::Latin1);
  size_t counted = 0, tasks = 0, hosts = 0, brackets = 0, increasing = 0;
  int64_t last = -1;
  for (std::string_view line : lines) {
    if (Trim(line).empty()) continue;
    ++counted;
    const re2::StringPiece text(line.data(), line.size());
    if (line[0] != '[') {
      tasks += task->Match(text, 0, text.size(), RE2::ANCHOR_START, nullptr, 0);
      hosts += host->Match(text, 0, text.size(), RE2::ANCHOR_START, nullptr, 0);
      continue;
    }
    re2::StringPiece groups[2];
    if (bracket->Match(text, 0, text.size(), RE2::ANCHOR_START, groups, 2)) {
      ++brackets;
      const auto number = ParseNumber<int64_t>({groups[1].data(), groups[1].size()});
      increasing += number && *number == last + 1;
      last = number.value_or(last);
    }
  }
  PrefixHabits habits;
  if (counted < kSampleMin) return habits;
  const double enough = kShare * static_cast<double>(counted);
  habits.task_colon = static_cast<double>(tasks) >= enough;
  habits.host_colon = static_cast<double>(hosts) >= enough;
  if (static_cast<double>(brackets) >= enough) {
    habits.line_number = static_cast<double>(increasing) >= enough * kShare;
    habits.rank_bracket = !habits.line_number;
  }
  return habits;
}

Peeled Peel(std::string_view line, const PrefixHabits& habits) {
  Peeled out;
  size_t at = 0;
  int layer = 1;
  out.starts.reserve(kPeelsMax);  // at once: growing them would cost more than the peeling
  out.dialects.reserve(kPeelsMax);
  out.starts.push_back(0);
  for (int peels = 0; peels < kPeelsMax && at < line.size(); ++peels) {
    bool peeled = false;
    for (const CompiledDialect* dialect : Table()[static_cast<unsigned char>(line[at])]) {
      const Dialect& row = dialect->row;
      if (row.layer < layer || !dialect->MayApply(line.substr(at))) continue;
      re2::StringPiece groups[kGroupsMax];
      const int count = static_cast<int>(dialect->slots.size()) + 1;
      FF_CHECK(static_cast<size_t>(count) <= kGroupsMax && dialect->re->NumberOfCapturingGroups() + 1 == count);
      const re2::StringPiece text(line.data(), line.size());
      if (!dialect->re->Match(text, at, line.size(), RE2::ANCHOR_START, groups, count) || groups[0].empty()) continue;
      const std::string_view rest = line.substr(at + groups[0].size());
      if (!Allowed(row.needs, habits, rest)) continue;
      Captures captures;
      for (size_t i = 0; i < dialect->slots.size(); ++i) {
        const re2::StringPiece& group = groups[i + 1];
        if (!group.empty()) captures[static_cast<size_t>(dialect->slots[i])] = {group.data(), group.size()};
      }
      if (IsLevelWord(captures[static_cast<size_t>(Slot::kHost)])) continue;
      Apply(row, captures, &out.prefix);
      at += groups[0].size();
      // A logger's level and name may come in several pieces; everything else comes once.
      layer = row.layer == 6 ? 6 : row.layer == 1 ? 1 : row.layer == 4 || row.layer == 3 ? 3 : row.layer + 1;
      out.starts.push_back(at);
      out.dialects.push_back(row.name);
      out.outer += row.layer < 5;
      peeled = true;
      break;
    }
    if (!peeled) break;
  }
  out.prefix.length = at;
  out.message = line.substr(at);
  AddInnerStarts(line, at, &out.starts);
  if (out.message.starts_with("srun: ") || out.message.starts_with("slurmstepd: ")) out.prefix.launcher = true;
  return out;
}

std::vector<size_t> GluedStarts(std::string_view line) {
  std::vector<size_t> out;
  const auto add_all = [&](std::string_view mark) {
    for (size_t at = line.find(mark, 1); at != std::string_view::npos; at = line.find(mark, at + mark.size())) {
      if (mark == "[rank") {
        // A rank tag proper: "[rank12]:", not "[rank 12" inside a message.
        size_t end = at + mark.size();
        while (end < line.size() && IsDigit(line[end])) ++end;
        if (end == at + mark.size() || !line.substr(end).starts_with("]:")) continue;
      }
      if (mark[0] == 'T') {
        // Behind a progress bar; with a blank before it, it is announced or quoted.
        if (line[at - 1] == ' ') continue;
        if (Trim(line.substr(at)) != mark) continue;
      }
      if (mark[0] == 'N') {
        // Behind a tag or a stamp; behind a word or a quotation mark it is spoken of.
        const size_t last = line.find_last_not_of(' ', at - 1);
        if (last == std::string_view::npos || std::string_view(":];>|").find(line[last]) == std::string_view::npos) continue;
      }
      out.push_back(at);
    }
  };
  add_all("[rank");
  add_all("Traceback (most recent call last):");
  // A collector of which no dialect is known must not hide the driver's own line.
  add_all("NVRM: Xid (");
  std::sort(out.begin(), out.end());
  const Peeled peeled = out.empty() ? Peeled{} : Peel(line);
  // What the peeler reaches by itself is not glued, only prefixed.
  std::erase_if(out, [&](size_t at) {
    return std::find(peeled.starts.begin(), peeled.starts.end(), at) != peeled.starts.end();
  });
  return out;
}

}  // namespace firstfault
