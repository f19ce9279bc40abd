#include "correlate/oom.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>

#include "correlate/evidence.h"
#include "correlate/explain.h"
#include "correlate/parse/progress.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr double kMiB = 1024.0 * 1024, kGiB = 1024 * kMiB, kTiB = 1024 * kGiB;

// Contexts, libraries and the driver's own share of a device. What a process does not account for beyond
// this is somebody else's. With "this process has X in use" only the driver's share is missing (0.3-0.6 GiB
// on the devices seen); without it also context, NCCL buffers and library workspaces (up to 3 GiB seen).
constexpr double kUnaccountedKnown = 1 * kGiB, kUnaccountedPool = 4 * kGiB;
// A process that holds less than this share of the device is no reason for a shortage.
constexpr double kHolderShare = 0.05;
// NVML lists processes by the host's pid; inside a container the message's own process is then "another".
// Its use is at least its pool's.
constexpr double kSelfSlack = 0.98;
// Larger than any device or host that is sold (2026: 288 GB of device memory, 32 TB of host memory).
constexpr double kDeviceMax = 1 * kTiB, kHostMax = 64 * kTiB;
// A killed process that held less than half of its cgroup is not what filled it.
constexpr double kVictimShare = 0.5;
// Ranks that do the same work use the same memory, within this share; others are no twins to compare with.
constexpr double kTwinSpread = 0.15;
// How far beyond its twins a rank counts as an outlier.
constexpr double kTwinExcess = 1.1;
// JAX compiles a handful of functions at start; the same ones again and again mean changing shapes.
constexpr int64_t kCompilationsTold = 8;
constexpr size_t kHoldersMax = 16;

constexpr WordTable<Shortage, 6> kShortageWords = {{
    {Shortage::kShort, "short"},
    {Shortage::kFragmented, "fragmented"},
    {Shortage::kHeldByOther, "held_by_other"},
    {Shortage::kPreallocation, "preallocation"},
    {Shortage::kBogusRequest, "bogus_request"},
    {Shortage::kUnknown, "unknown"},
}};
constexpr WordTable<Allocator, 6> kAllocatorWords = {{
    {Allocator::kTorch, "torch"},   {Allocator::kXla, "xla"},   {Allocator::kVllm, "vllm"},
    {Allocator::kSglang, "sglang"}, {Allocator::kCuda, "cuda"}, {Allocator::kHost, "host"},
}};

struct AllocatorRow {
  std::string_view id_prefix;
  Allocator allocator;
};
// First match wins.
constexpr AllocatorRow kAllocators[] = {
    {"oom.torch", Allocator::kTorch},    {"oom.vllm.", Allocator::kVllm},
    {"oom.sglang.", Allocator::kSglang}, {"oom.cuda.", Allocator::kCuda},
    {"oom.cublas", Allocator::kCuda},    {"oom.cudnn", Allocator::kCuda},
    {"oom.nccl.", Allocator::kCuda},     {"jax.oom.pinned", Allocator::kHost},
    {"jax.oom.", Allocator::kXla},       {"oom.", Allocator::kHost},
    {"slurm.oom", Allocator::kHost},     {"slurm.memlimit", Allocator::kHost},
    {"k8s.oomkilled", Allocator::kHost}, {"ray.oom", Allocator::kHost},
};

std::optional<double> SizeField(const Fields& fields, std::string_view name) {
  const std::string_view text = FieldOf(fields, name);
  return text.empty() ? std::nullopt : ParseSize(text);
}

// "Process 4711 has 9.25 GiB memory in use", as often as the device has processes.
std::vector<Holder> HoldersIn(std::string_view line) {
  static const RE2* const form =
      new RE2(R"(Process ([0-9]{1,9}) has ([0-9.]+ (?:[KMGTP]iB|bytes)) memory in use)", RE2::Latin1);
  std::vector<Holder> out;
  re2::StringPiece rest(line.data(), line.size());
  int32_t pid = 0;
  std::string size;
  while (out.size() < kHoldersMax && RE2::FindAndConsume(&rest, *form, &pid, &size)) {
    if (const auto bytes = ParseSize(size)) out.push_back({pid, *bytes});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return out;
}

std::optional<double> PoolOf(const OomNumbers& numbers) {
  if (!numbers.allocated) return std::nullopt;
  return *numbers.allocated + numbers.reserved_unallocated.value_or(0);
}

// Which of the listed processes is the one that speaks, where the message does not say it.
void TakeOutSelf(OomNumbers* numbers) {
  const std::optional<double> pool = PoolOf(*numbers);
  if (numbers->in_use || !pool) return;
  // Largest first: the last one that is large enough is the closest.
  for (size_t i = numbers->holders.size(); i-- > 0;) {
    if (numbers->holders[i].bytes < kSelfSlack * *pool) continue;
    numbers->in_use = numbers->holders[i].bytes;
    numbers->holders.erase(numbers->holders.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

// Memory of the device that this process does not account for: named holders, else what is left over.
std::optional<double> HeldByOthers(const OomNumbers& numbers) {
  if (!numbers.total) return std::nullopt;
  double held = 0;
  for (const Holder& holder : numbers.holders) held += holder.bytes;
  const std::optional<double> own = numbers.in_use ? numbers.in_use : PoolOf(numbers);
  if (held == 0 && own && numbers.free) {
    const double rest = *numbers.total - *numbers.free - *own;
    if (rest >= (numbers.in_use ? kUnaccountedKnown : kUnaccountedPool)) held = rest;
  }
  if (held < kHolderShare * *numbers.total) return std::nullopt;
  return held;
}

std::string HolderText(const OomAnswer& answer) {
  std::string pids;
  for (const Holder& holder : answer.numbers.holders) {
    pids += Cat(pids.empty() ? "" : ", ", "pid ", holder.pid, " with ", SizeText(holder.bytes));
  }
  return pids;
}

std::string AskedText(const OomNumbers& numbers) {
  std::string out = numbers.asked ? Cat("asked ", SizeText(*numbers.asked))
                                  : std::string("asked an amount that is not printed");
  if (numbers.free) out += Cat(" with ", SizeText(*numbers.free), " free");
  if (numbers.total) out += Cat(" of ", SizeText(*numbers.total));
  if (numbers.reserved_unallocated)
    out += Cat(" and ", SizeText(*numbers.reserved_unallocated), " reserved but unallocated");
  if (numbers.limit) out += Cat(", limited to ", SizeText(*numbers.limit));
  return out;
}

bool Bogus(Allocator allocator, const OomNumbers& numbers) {
  if (numbers.beyond_any_size) return true;
  if (!numbers.asked) return false;
  if (allocator == Allocator::kHost) return *numbers.asked > kHostMax;
  return *numbers.asked > numbers.total.value_or(kDeviceMax);
}

void AnswerTorch(OomAnswer* answer) {
  OomNumbers& n = answer->numbers;
  TakeOutSelf(&n);
  if (!n.asked || !n.free) {
    answer->missing = {"the sizes: this message prints none"};
    answer->sentence = "its message prints no sizes, so nothing can be compared";
    return;
  }
  double left = *n.free;
  const std::optional<double> pool = PoolOf(n);
  if (n.limit && pool) left = std::min(left, std::max(0.0, *n.limit - *pool));
  const double lacking = *n.asked - left;
  if (lacking <= 0) {
    answer->missing = {
        "the free memory at the moment of the request: what the message counted afterwards would do"};
    answer->sentence =
        Cat(AskedText(n), ": that would fit, so memory was given back between the failure and the message");
    return;
  }
  const std::optional<double> others = HeldByOthers(n);
  if (others && *others >= lacking) {
    answer->shortage = Shortage::kHeldByOther;
    answer->held_by_others = others;
    answer->short_by = lacking;
    const std::string pids = HolderText(*answer);
    answer->sentence = Cat(AskedText(n), ": ", SizeText(*others), " of the device is held by ",
                           pids.empty() ? "others than this process" : Cat("another process (", pids, ")"),
                           "; without that it would fit");
    return;
  }
  if (n.reserved_unallocated && *n.reserved_unallocated >= lacking) {
    answer->shortage = Shortage::kFragmented;
    answer->sentence = Cat(AskedText(n), ": enough in total, but in pieces (fragmented)");
    return;
  }
  answer->shortage = Shortage::kShort;
  answer->short_by = lacking - n.reserved_unallocated.value_or(0);
  answer->sentence = Cat(AskedText(n), ": short by ", SizeText(*answer->short_by),
                         n.reserved_unallocated ? " even if the pool were packed tightly" : "");
}

void AnswerXla(const PoolStart& pool, OomAnswer* answer) {
  OomNumbers& n = answer->numbers;
  if (pool.last_refused) {
    answer->shortage = Shortage::kPreallocation;
    if (pool.wanted && *pool.wanted > *pool.last_refused)
      answer->held_by_others = *pool.wanted - *pool.last_refused;
    answer->sentence = Cat("at start the driver refused this process's pool",
                           pool.wanted ? Cat(" of ", SizeText(*pool.wanted)) : std::string());
    if (answer->held_by_others) {
      answer->sentence += Cat(" and still refused ", SizeText(*pool.last_refused),
                              ", before the program held anything: somebody else holds at least ",
                              SizeText(*answer->held_by_others), " of the device");
    } else {
      answer->sentence += ", before the program held anything: it is larger than what others leave free";
    }
    return;
  }
  if (n.limit && n.in_use && (n.asked || *n.in_use > *n.limit)) {
    const double left = *n.limit - *n.in_use;
    const double lacking = n.asked.value_or(0) - left;
    answer->shortage = lacking > 0 ? Shortage::kShort : Shortage::kFragmented;
    const std::string state = Cat(n.asked ? Cat("asked ", SizeText(*n.asked), " with ") : std::string(),
                                  SizeText(*n.in_use), " in use of ", SizeText(*n.limit));
    if (lacking > 0) answer->short_by = lacking;
    answer->sentence = Cat(state, lacking > 0 ? Cat(": short by ", SizeText(lacking))
                                              : std::string(": enough in total, but in pieces (fragmented)"));
    return;
  }
  if (n.asked && n.free && *n.asked > *n.free) {
    answer->shortage = Shortage::kShort;
    answer->short_by = *n.asked - *n.free;
    answer->sentence = Cat(AskedText(n), ": short by ", SizeText(*answer->short_by));
    return;
  }
  answer->missing = {"size and use of the pool (the allocator's dump, or a device memory profile)"};
  answer->sentence = Cat(AskedText(n), "; the message does not say how large the pool is and what it held");
}

void AnswerVllm(OomAnswer* answer) {
  OomNumbers& n = answer->numbers;
  if (n.asked && n.free && n.total) {
    // The engine speaks before it has loaded anything: what is not free is not its own.
    const double others = *n.total - *n.free;
    answer->short_by = *n.asked - *n.free;
    const bool held = others >= kUnaccountedPool / 2;
    answer->shortage = held ? Shortage::kHeldByOther : Shortage::kPreallocation;
    if (held) answer->held_by_others = others;
    answer->sentence =
        Cat("wants ", SizeText(*n.asked), " at start with ", SizeText(*n.free), " free of ",
            SizeText(*n.total), ": ",
            held ? Cat(SizeText(others), " is held by others before the engine has loaded anything")
                 : std::string("its configured share is larger than a free device has"));
    return;
  }
  if (n.asked && n.free && *n.asked > *n.free) {
    answer->shortage = Shortage::kShort;
    answer->short_by = *n.asked - *n.free;
    answer->sentence = Cat("needs ", SizeText(*n.asked), " of cache for one request with ", SizeText(*n.free),
                           " left in its share: short by ", SizeText(*answer->short_by));
    return;
  }
  answer->shortage = Shortage::kShort;
  answer->sentence =
      "weights and activations use up the engine's configured share: nothing is left for the cache";
}

void AnswerHost(OomAnswer* answer) {
  const OomNumbers& n = answer->numbers;
  if (n.total && n.scope_in_use) {
    answer->shortage = Shortage::kShort;
    answer->sentence =
        Cat("the node used ", SizeText(*n.scope_in_use), " of ", SizeText(*n.total), " of host memory");
    return;
  }
  if (n.limit && n.in_use) {
    const double others = *n.limit - *n.in_use;
    const bool held = *n.in_use < kVictimShare * *n.limit;
    answer->shortage = held ? Shortage::kHeldByOther : Shortage::kShort;
    if (held) answer->held_by_others = others;
    answer->sentence = Cat("the cgroup's limit of ", SizeText(*n.limit),
                           " of host memory was used up; the killed process held ", SizeText(*n.in_use),
                           held ? Cat(", others in the cgroup ", SizeText(others)) : std::string(" of it"));
    return;
  }
  answer->missing = {"the limit of the cgroup or the memory of the node, and what each process held"};
  if (n.in_use) {
    answer->sentence = Cat("the killed process held ", SizeText(*n.in_use), " of host memory");
  } else if (n.asked) {
    answer->sentence = Cat("asked ", SizeText(*n.asked), " of host memory");
  } else {
    answer->sentence = "host memory ran out; the message prints no sizes";
  }
}

// The last figure of device memory that each rank printed; the culprit's against the median of the others.
void CompareTwins(const Incident& incident, int32_t rank, OomAnswer* answer) {
  std::map<int32_t, double> last;
  for (const SourceDigest* source : incident.sources) {
    for (const Sample& sample : source->memory) {
      const auto of = sample.rank         ? sample.rank
                      : source->info.rank ? ParseNumber<int32_t>(source->info.rank->value)
                                          : std::nullopt;
      if (sample.device && of) last[*of] = sample.value;
    }
  }
  const auto own = last.find(rank);
  if (own == last.end() || last.size() < 3) return;
  std::vector<double> others;
  for (const auto& [other, value] : last) {
    if (other != rank) others.push_back(value);
  }
  std::sort(others.begin(), others.end());
  const double median = others[others.size() / 2];
  if (others.front() < (1 - kTwinSpread) * median || others.back() > (1 + kTwinSpread) * median) return;
  answer->own_last = own->second;
  answer->twins_last = median;
  const bool apart = own->second > kTwinExcess * median;
  answer->sentence += Cat("; in its last line it had ", SizeText(own->second), ", its ", others.size(),
                          " twins ", SizeText(median), apart ? ": it alone grew" : ": no more than they");
}

// Compilations in the same log before the failure: a new shape compiles, and keeps, a new program.
void CountCompilations(const Suspect& suspect, const Incident& incident, OomAnswer* answer) {
  const PlacedEvent& root = *suspect.root;
  int64_t starts = 0, ends = 0;
  std::set<std::string_view> functions;
  for (const Event& fact : root.source->facts) {
    const std::string& id = incident.catalogue->signatures()[fact.signature].row.id();
    const bool start = id == "jax.compile_start" || id == "dynamo.recompiling";
    if (!start && id != "jax.compile_done") continue;
    if (fact.at.byte_offset >= root.event->at.byte_offset) continue;
    if (fact.prefix.rank && root.place.rank && *fact.prefix.rank != *root.place.rank) continue;
    ++(start ? starts : ends);
    functions.insert(FieldOf(fact.fields, "function"));
  }
  answer->recompilations = std::max(starts, ends);
  answer->churn = answer->recompilations >=
                  std::max<int64_t>(kCompilationsTold, 2 * static_cast<int64_t>(functions.size()));
  if (!answer->churn) return;
  answer->sentence +=
      Cat("; before it this log shows ", answer->recompilations, " compilations of ", Counted(functions.size(), "function"),
          ": shapes keep changing, and every program keeps memory");
}

// Numbers that other lines of the same log add: XLA's dump, and the kernel's line about the cgroup.
void AddFacts(const Suspect& suspect, const Incident& incident, OomNumbers* numbers) {
  for (const Event& fact : suspect.root->source->facts) {
    const std::string& id = incident.catalogue->signatures()[fact.signature].row.id();
    if (id == "jax.oom.bfc_stats" && !numbers->in_use) numbers->in_use = SizeField(fact.fields, "in_use");
    if (id == "jax.oom.bfc_limit" && !numbers->limit) numbers->limit = SizeField(fact.fields, "limit");
    // The kernel prints the counters just before the kill; several kills of one log each have their own.
    if (id == "oom.kernel.usage" && fact.at.byte_offset < suspect.root->event->at.byte_offset) {
      numbers->scope_in_use = SizeField(fact.fields, "in_use");
      numbers->limit = SizeField(fact.fields, "limit");
    }
  }
}

PoolStart PoolStartOf(const Suspect& suspect, const Incident& incident) {
  PoolStart out;
  const SourceDigest& source = *suspect.root->source;
  for (const PlacedEvent& event : incident.events) {
    if (event.source != &source || event.id() != "jax.oom.driver") continue;
    if (event.place.device != suspect.root->place.device && event.place.device && suspect.root->place.device)
      continue;
    // Steps before it: the pool grew at work, which says nothing about the start.
    const bool at_work =
        std::any_of(source.progress.begin(), source.progress.end(), [&](const Progress& progress) {
          return !progress.bar && progress.at.byte_offset < event.event->at.byte_offset;
        });
    const auto asked = SizeField(event.event->fields, "asked");
    if (at_work || !asked) continue;
    out.wanted = std::max(out.wanted.value_or(0), *asked);
    out.last_refused = std::min(out.last_refused.value_or(*asked), *asked);
  }
  return out;
}

}  // namespace

std::string_view Word(Shortage value) { return WordIn(kShortageWords, value); }

std::string_view Word(Allocator value) { return WordIn(kAllocatorWords, value); }

std::optional<Allocator> AllocatorOf(std::string_view id) {
  for (const AllocatorRow& row : kAllocators) {
    if (id.starts_with(row.id_prefix)) return row.allocator;
  }
  return std::nullopt;
}

std::string SizeText(double bytes) {
  const auto two_decimals = [](double value) {
    const auto hundredths = static_cast<int64_t>(std::min(value, 1e12) * 100 + 0.5);
    return Cat(hundredths / 100, hundredths % 100 < 10 ? ".0" : ".", hundredths % 100);
  };
  if (bytes >= kTiB) return Cat(two_decimals(bytes / kTiB), " TiB");
  if (bytes >= kGiB) return Cat(two_decimals(bytes / kGiB), " GiB");
  return Cat(static_cast<int64_t>(bytes / kMiB + 0.5), " MiB");
}

OomNumbers ReadNumbers(const Event& event, Allocator allocator) {
  const Fields& fields = event.fields;
  OomNumbers out;
  out.asked = SizeField(fields, "asked");
  out.in_use = SizeField(fields, "in_use");
  out.limit = SizeField(fields, "limit");
  out.free = SizeField(fields, "free");
  out.total = SizeField(fields, "total");
  out.allocated = SizeField(fields, "allocated");
  out.reserved_unallocated = SizeField(fields, "reserved_unallocated");
  if (allocator == Allocator::kHost) {
    // The kernel's total-vm is address space, not memory; Ray's two figures are the node's.
    const bool node =
        out.in_use && out.total && *out.total >= *out.in_use && !FieldOf(fields, "peer_host").empty();
    if (node) out.scope_in_use = out.in_use;
    if (node) out.in_use.reset();
    if (!node) out.total.reset();
    return out;
  }
  if (allocator == Allocator::kVllm && !out.free) {
    if (const std::string_view value = FieldOf(fields, "value"); !value.empty())
      out.free = ParseSize(Cat(value, " GiB"));
  }
  // Torch before 2.1 prints the pool's total.
  if (const auto reserved = SizeField(fields, "reserved");
      reserved && out.allocated && *reserved >= *out.allocated) {
    out.reserved_unallocated = *reserved - *out.allocated;
  }
  out.holders = HoldersIn(event.text);
  // Some drivers do not know it and print a wrapped number.
  if (out.in_use && out.total && *out.in_use > *out.total) out.in_use.reset();
  return out;
}

OomAnswer AnswerFrom(Allocator allocator, OomNumbers numbers, const PoolStart& pool) {
  OomAnswer answer;
  answer.allocator = allocator;
  answer.numbers = std::move(numbers);
  // An engine that wants a share of the device up front computes it: a share above one is no corrupt size.
  if (allocator != Allocator::kVllm && Bogus(allocator, answer.numbers)) {
    answer.shortage = Shortage::kBogusRequest;
    const OomNumbers& n = answer.numbers;
    answer.sentence =
        Cat("asked ", n.asked ? SizeText(*n.asked) : std::string("more than any device has"),
            n.total ? Cat(" of a device of ", SizeText(*n.total)) : std::string(),
            ": no free memory could serve this, so the size itself is wrong or one tensor is far too large");
    return answer;
  }
  switch (allocator) {
    case Allocator::kTorch:
      AnswerTorch(&answer);
      break;
    case Allocator::kXla:
      AnswerXla(pool, &answer);
      break;
    case Allocator::kVllm:
      AnswerVllm(&answer);
      break;
    case Allocator::kHost:
      AnswerHost(&answer);
      break;
    case Allocator::kSglang:
      answer.shortage = Shortage::kPreallocation;
      answer.sentence = "weights use up the engine's static share: nothing is left for the token pool";
      break;
    case Allocator::kCuda:
      answer.missing = {
          "the sizes: the CUDA runtime prints none; free and total memory of the device, and who holds it"};
      answer.sentence = "the device was full for a call outside torch's pool; its message prints no sizes";
      break;
  }
  return answer;
}

std::optional<OomAnswer> ExplainOom(const Incident& incident, const Suspect& suspect) {
  if (suspect.root == nullptr || suspect.root->signature->role < Role::kAmbiguous) return std::nullopt;
  const std::optional<Allocator> allocator = AllocatorOf(suspect.root->id());
  if (!allocator) return std::nullopt;
  OomNumbers numbers = ReadNumbers(*suspect.root->event, *allocator);
  numbers.beyond_any_size = suspect.root->id() == "oom.torch.huge";
  // Several lines tell one failure; the deciding one need not have the numbers (XLA's exception and its
  // dump).
  for (const PlacedEvent* own : suspect.own) {
    if (!numbers.asked) numbers.asked = ReadNumbers(*own->event, *allocator).asked;
  }
  AddFacts(suspect, incident, &numbers);
  const PoolStart pool = *allocator == Allocator::kXla ? PoolStartOf(suspect, incident) : PoolStart{};
  OomAnswer answer = AnswerFrom(*allocator, std::move(numbers), pool);
  if (*allocator == Allocator::kTorch || *allocator == Allocator::kXla) {
    CountCompilations(suspect, incident, &answer);
    if (suspect.place.rank && !suspect.all_ranks) CompareTwins(incident, *suspect.place.rank, &answer);
  }
  return answer;
}

bool IsBogusRequest(const PlacedEvent& event) {
  const std::optional<Allocator> allocator = AllocatorOf(event.id());
  if (!allocator || *allocator == Allocator::kVllm) return false;
  return event.id() == "oom.torch.huge" || Bogus(*allocator, ReadNumbers(*event.event, *allocator));
}

}  // namespace firstfault
