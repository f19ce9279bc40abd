#include "correlate/suspects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "correlate/text.h"
#include "correlate/weights.h"

namespace firstfault {
namespace {

// Signatures that say "I waited until my time was up" or "I was stuck in a collective".
constexpr std::string_view kWaiters[] = {
    "pg.watchdog_timeout", "pg.wait_timeout", "pg.progress",    "pg.heartbeat_lost", "pg.unique_id",
    "gloo.op_timeout",     "store.wait",      "store.barrier",  "store.clients",     "pgw.barrier_timeout",
};

bool IsWaiter(std::string_view id) {
  return std::find(std::begin(kWaiters), std::end(kWaiters), id) != std::end(kWaiters);
}

// A place as a key: a rank, else a host, else a file.
std::string KeyOf(const PlacedEvent& event) {
  if (event.place.rank) return Cat("rank ", *event.place.rank);
  if (!event.place.host.empty()) return Cat("host ", event.place.host);
  return Cat("file ", event.source->info.path);
}

std::string_view Family(std::string_view id) { return id.substr(0, id.find('.')); }

// Same source and printed before: the only order that needs no clock.
bool PrintedBefore(const PlacedEvent& a, const PlacedEvent& b) {
  return a.source == b.source && a.event->at.byte_offset < b.event->at.byte_offset;
}

std::string Quote(std::string_view text) {
  constexpr size_t kQuoteBytes = 120;
  std::string_view trimmed = Trim(text);
  return trimmed.size() <= kQuoteBytes ? Cat("\"", trimmed, "\"") : Cat("\"", trimmed.substr(0, kQuoteBytes), "...\"");
}


class Finder {
 public:
  explicit Finder(const Incident& incident) : incident_(incident) {}

  std::vector<Suspect> Find() {
    CollectOwnLines();
    FoldWrappers();
    JoinKernelToRank();
    FoldAlike();
    CollectSilent();
    for (Suspect& suspect : suspects_) Weigh(&suspect);
    Rank();
    return std::move(suspects_);
  }

 private:
  // --- one suspect for each (place, signature) whose line can be a cause
  void CollectOwnLines() {
    std::map<std::pair<std::string, std::string>, size_t> index;
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role < Role::kAmbiguous) continue;
      if (event.signature->row.accuses_peer() || !event.event->reports.empty()) continue;  // see CollectSilent
      if (WentOn(incident_, event)) continue;
      const auto key = std::make_pair(KeyOf(event), std::string(event.id()));
      const auto [it, fresh] = index.try_emplace(key, suspects_.size());
      if (fresh) {
        Suspect& suspect = suspects_.emplace_back();
        suspect.place = event.place;
        if (event.place.rank) suspect.ranks = {*event.place.rank};
        suspect.fault_class = event.signature->fault_class;
        suspect.signature = std::string(event.id());
        suspect.root = &event;
      }
      suspects_[it->second].own.push_back(&event);
    }
    for (Suspect& suspect : suspects_) {
      // The process's own words outrank a logger's copy of them: where a traceback ends in the fault, it
      // is the root, and the earlier line stays the first warning.
      for (const PlacedEvent* event : suspect.own) {
        if (event->event->in_traceback && !suspect.root->event->in_traceback) suspect.root = event;
      }
    }
  }

  std::vector<int32_t> WaitersSeen() const {
    std::set<int32_t> ranks;
    for (const PlacedEvent& event : incident_.events) {
      if (IsWaiter(event.id()) && event.place.rank) ranks.insert(*event.place.rank);
    }
    return {ranks.begin(), ranks.end()};
  }

  // Ranks of the job (of one host, if given) that reported no time-out although others did.
  std::vector<int32_t> SilentRanks(const std::string& host) const {
    const std::vector<int32_t> waiters = WaitersSeen();
    if (waiters.empty()) return {};
    int32_t world = incident_.world_size.value_or(0);
    if (!incident_.ranks.empty()) world = std::max(world, incident_.ranks.rbegin()->first + 1);
    std::vector<int32_t> out;
    for (int32_t rank = 0; rank < world; ++rank) {
      if (std::binary_search(waiters.begin(), waiters.end(), rank)) continue;
      const auto facts = incident_.ranks.find(rank);
      const std::string known = facts == incident_.ranks.end() ? "" : facts->second.host;
      if (!host.empty() && !known.empty() && known != host) continue;
      out.push_back(rank);
    }
    return out;
  }

  // A kernel line names a host and a device, seldom a rank. Where exactly one rank of that host is
  // silent while its peers timed out, the device's owner is that rank.
  void JoinKernelToRank() {
    for (Suspect& suspect : suspects_) {
      if (suspect.place.rank || suspect.root == nullptr) continue;
      const bool kernel = suspect.root->event->prefix.kernel ||
                          suspect.root->source->info.kind == SourceInfo::Kind::kKernelLog;
      if (!kernel || (suspect.place.bus.empty() && !suspect.place.pid)) continue;
      if (suspect.fault_class == FaultClass::kTransport) continue;  // a NIC serves all ranks of its host
      const std::vector<int32_t> silent = SilentRanks(suspect.place.host);
      if (silent.size() != 1) continue;
      suspect.place.rank = silent[0];
      suspect.ranks = silent;
      suspect.place.known_by.push_back("rank: the only rank without a time-out");
    }
  }

  // A line that only introduces another one of its family at the same place (the OOM killer's constraint
  // line before its kill line) is part of that fault, not a rival.
  void FoldWrappers() {
    for (size_t i = 0; i < suspects_.size();) {
      const Suspect& outer = suspects_[i];
      const auto inner = std::find_if(suspects_.begin(), suspects_.end(), [&](const Suspect& other) {
        return &other != &outer && !other.root->signature->row.wrapper() && Family(other.signature) == Family(outer.signature) &&
               KeyOf(*other.root) == KeyOf(*outer.root);
      });
      if (!outer.root->signature->row.wrapper() || inner == suspects_.end()) {
        ++i;
        continue;
      }
      inner->own.insert(inner->own.end(), outer.own.begin(), outer.own.end());
      std::sort(inner->own.begin(), inner->own.end(), [](const PlacedEvent* a, const PlacedEvent* b) {
        if (a->source != b->source) return a->source->info.path < b->source->info.path;
        return a->event->at.byte_offset < b->event->at.byte_offset;
      });
      suspects_.erase(suspects_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // --- the same fault at several places
  void FoldAlike() {
    std::map<std::string, std::vector<size_t>> by_signature;
    for (size_t i = 0; i < suspects_.size(); ++i) by_signature[suspects_[i].signature].push_back(i);
    std::set<size_t> gone;
    for (auto& [signature, members] : by_signature) {
      if (members.size() < 2) continue;
      std::set<std::string> hosts;
      std::set<int32_t> ranks;
      for (size_t i : members) {
        hosts.insert(suspects_[i].place.host);
        for (int32_t rank : suspects_[i].ranks) ranks.insert(rank);
      }
      const size_t seen = std::max<size_t>(incident_.ranks.size(), static_cast<size_t>(incident_.world_size.value_or(0)));
      const bool everyone = ranks.size() >= 2 && ranks.size() >= seen;
      const bool one_host = hosts.size() == 1 && !hosts.begin()->empty() && incident_.hosts.size() > 1;
      if (!everyone && !one_host) continue;
      // Sorted so that the one whose line stands first leads; a tie goes to the lower rank.
      std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
        const PlacedEvent& x = *suspects_[a].root;
        const PlacedEvent& y = *suspects_[b].root;
        if (x.source == y.source) return x.event->at.byte_offset < y.event->at.byte_offset;
        return suspects_[a].place.rank.value_or(INT32_MAX) < suspects_[b].place.rank.value_or(INT32_MAX);
      });
      Suspect& lead = suspects_[members[0]];
      for (size_t k = 1; k < members.size(); ++k) {
        const Suspect& other = suspects_[members[k]];
        lead.own.insert(lead.own.end(), other.own.begin(), other.own.end());
        for (int32_t rank : other.ranks) {
          if (std::find(lead.ranks.begin(), lead.ranks.end(), rank) == lead.ranks.end()) lead.ranks.push_back(rank);
        }
        gone.insert(members[k]);
      }
      if (everyone && !one_host) {
        lead.all_ranks = true;
        lead.place = Location{};
      }
    }
    std::vector<Suspect> kept;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      if (!gone.contains(i)) kept.push_back(std::move(suspects_[i]));
    }
    suspects_ = std::move(kept);
  }

  Suspect* ForRank(int32_t rank) {
    for (Suspect& suspect : suspects_) {
      if (suspect.place.rank == rank) return &suspect;
    }
    return nullptr;
  }
  Suspect* ForHost(const std::string& host) {
    for (Suspect& suspect : suspects_) {
      if (!suspect.place.host.empty() && suspect.place.host == host) return &suspect;
    }
    return nullptr;
  }

  Suspect* AddSilent(int32_t rank) {
    Suspect& suspect = suspects_.emplace_back();
    suspect.place.rank = rank;
    suspect.ranks = {rank};
    const auto facts = incident_.ranks.find(rank);
    if (facts != incident_.ranks.end()) {
      suspect.place.host = facts->second.host;
      suspect.place.local_rank = facts->second.local_rank;
      suspect.place.pid = facts->second.pid;
      if (facts->second.last_words != nullptr) {
        suspect.words = facts->second.last_words->last_text;
        suspect.words_at = facts->second.last_words->last_at;
        suspect.words_source = facts->second.last_words_source;
      }
    }
    suspect.place.known_by.push_back("rank: named by others");
    return &suspect;
  }

  // --- suspects without a cause of their own: accused, silent, behind, killed
  void CollectSilent() {
    AccusedRanks();
    AccusedHosts();
    OneSilentRank();
    BehindInGroup();
    EndedBySignal();
  }

  void AccusedRanks() {
    std::map<int32_t, std::vector<const PlacedEvent*>> accusers;
    for (const PlacedEvent& event : incident_.events) {
      if (!event.accuses) continue;
      for (int32_t rank : event.accused_ranks) {
        if (event.place.rank != rank) accusers[rank].push_back(&event);
      }
    }
    for (auto& [rank, events] : accusers) {
      Suspect* suspect = ForRank(rank);
      if (suspect == nullptr) {
        suspect = AddSilent(rank);
        suspect->root = events.front();
        suspect->signature = std::string(events.front()->id());
        suspect->fault_class = events.front()->signature->fault_class;
        suspect->own = {events.front()};
      }
      std::set<std::string> places;
      for (const PlacedEvent* event : events) places.insert(KeyOf(*event));
      const int count = std::min<int>(static_cast<int>(places.size()), weights::kAccusersMax);
      suspect->Add("accused_rank", weights::kAccusedRank * count,
                   Cat(places.size(), " other place(s) name rank ", rank, ", first: ", Quote(events.front()->event->text)));
      if (const PlacedEvent* compile = PrecursorOf(rank, "jax.slow_")) {
        suspect->signature = "derived.slow_compile";
        suspect->fault_class = FaultClass::kConfiguration;
        suspect->Add("busy_elsewhere", weights::kBusyElsewhere,
                     Cat("rank ", rank, " was alive and compiling: ", Quote(compile->event->text)));
      }
      const std::vector<int32_t> waiters = WaitersSeen();
      if (std::binary_search(waiters.begin(), waiters.end(), rank)) {
        suspect->Add("accused_but_waiting", weights::kAccusedButWaiting,
                     Cat("rank ", rank, " reports a time-out itself, so it was waiting too"));
      }
    }
  }

  const PlacedEvent* PrecursorOf(int32_t rank, std::string_view family) const {
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role == Role::kPrecursor && event.place.rank == rank && event.id().starts_with(family)) return &event;
    }
    return nullptr;
  }

  void AccusedHosts() {
    std::map<std::string, std::set<std::string>> accusers;
    for (const PlacedEvent& event : incident_.events) {
      for (const std::string& host : event.accused_hosts) {
        if (incident_.hosts.contains(host) && event.place.host != host) accusers[host].insert(KeyOf(event));
      }
    }
    for (const auto& [host, places] : accusers) {
      Suspect* suspect = ForHost(host);
      if (suspect == nullptr) continue;  // a closed connection alone names no cause
      const int count = std::min<int>(static_cast<int>(places.size()), weights::kAccusersMax);
      suspect->Add("accused_host", weights::kAccusedHost * count,
                   Cat("connection errors at ", places.size(), " other place(s) name host ", host));
    }
  }

  void OneSilentRank() {
    const std::vector<int32_t> silent = SilentRanks("");
    const size_t waiters = WaitersSeen().size();
    if (silent.empty() || silent.size() > 2) return;
    // One waiter against one silent rank says little by itself; a phase seen at work beside it says more.
    const bool many = waiters >= 2 * silent.size();
    const double weight = many && silent.size() == 1 ? weights::kOnlyOneSilent : weights::kFewSilent;
    for (int32_t rank : silent) {
      Suspect* suspect = ForRank(rank);
      if (suspect == nullptr) {
        if (!many && BarBesideWait(rank).second == nullptr) continue;
        suspect = AddSilent(rank);
        suspect->signature = "derived.silent";
      }
      suspect->Add("only_one_silent", weight,
                   Cat(waiters, " rank(s) timed out waiting; rank ", rank, " did not report it"));
      if (suspect->root == nullptr && silent.size() == 1) BusyPhase(suspect);
    }
  }

  // A progress bar that a silent rank may have drawn when the others gave up, and the log it is in.
  std::pair<const SourceDigest*, const Progress*> BarBesideWait(int32_t rank) const {
    // Lines around the first time-out in which a bar still counts as drawn at that time.
    constexpr int64_t kNear = 8;
    for (const PlacedEvent& event : incident_.events) {
      if (!IsWaiter(event.id())) continue;
      const Progress* last = nullptr;
      for (const Progress& progress : event.source->progress) {
        if (!progress.bar || (progress.rank && progress.rank != rank)) continue;
        if (progress.at.line > event.event->at.line) break;
        last = &progress;
      }
      if (last == nullptr) continue;
      // A traceback stands between the bar and the line that names the wait.
      const int64_t gap = int64_t{event.event->at.line} - last->at.line;
      if (gap <= kNear + static_cast<int64_t>(event.event->block.size())) return {event.source, last};
    }
    return {nullptr, nullptr};
  }

  void BusyPhase(Suspect* suspect) const {
    const auto [source, bar] = BarBesideWait(*suspect->place.rank);
    if (bar == nullptr) return;
    suspect->words = bar->text;
    suspect->words_at = bar->at;
    suspect->words_source = source;
    suspect->signature = "derived.busy_phase";
    suspect->fault_class = FaultClass::kConfiguration;
    suspect->Add("busy_elsewhere", weights::kBusyElsewhere,
                 Cat("somebody was still working while the others waited: ", Quote(bar->text)));
  }

  // Per group and failing number: who enqueued less, or something else.
  void BehindInGroup() {
    // A metric is a handful of numbers; a gradient bucket is thousands to millions.
    constexpr int64_t kScalarElements = 8, kGradientElements = 1024;
    struct View {
      std::set<int32_t> ranks;
      const PlacedEvent* first = nullptr;
      int64_t elements = INT64_MAX;
    };
    std::map<std::string, std::map<int64_t, View>> enqueued;       // group -> last enqueued -> who
    std::map<std::string, std::map<std::string, View>> operations; // group and number -> operation -> who
    for (const PlacedEvent& event : incident_.events) {
      if (!event.place.rank) continue;
      const Fields& fields = event.event->fields;
      const std::string group = event.event->prefix.group;
      if (const auto number = ParseNumber<int64_t>(FieldOf(fields, "enqueued"))) {
        View& view = enqueued[group][*number];
        view.ranks.insert(*event.place.rank);
        if (view.first == nullptr) view.first = &event;
      }
      const std::string_view seq = FieldOf(fields, "seq");
      if (IsWaiter(event.id()) && !seq.empty() && !FieldOf(fields, "op").empty()) {
        const auto elements = ParseNumber<int64_t>(FieldOf(fields, "numel_in"));
        View& view = operations[Cat(group, "\n", seq)][Cat(FieldOf(fields, "op"), " of ", FieldOf(fields, "numel_in"), " elements")];
        view.ranks.insert(*event.place.rank);
        view.elements = elements.value_or(INT64_MAX);
        if (view.first == nullptr) view.first = &event;
      }
    }
    for (const auto& [group, numbers] : enqueued) {
      if (numbers.size() < 2) continue;
      const auto& [lowest, behind] = *numbers.begin();
      size_t others = 0;
      for (const auto& [number, view] : numbers) others += number != lowest ? view.ranks.size() : 0;
      if (behind.ranks.size() > others) continue;  // the majority is not behind
      for (int32_t rank : behind.ranks) {
        Suspect* suspect = ForRank(rank);
        if (suspect == nullptr) {
          suspect = AddSilent(rank);
          SetRoot(suspect, behind.first);
          suspect->signature = "derived.behind";
        }
        suspect->Add("behind_in_group", weights::kBehindInGroup / static_cast<double>(behind.ranks.size()),
                     Cat("rank ", rank, " had enqueued only ", lowest, " collectives, the others up to ", numbers.rbegin()->first));
      }
    }
    for (const auto& [key, views] : operations) {
      if (views.size() < 2) continue;
      // The minority is the one on another path; two against one another stay both suspects.
      size_t fewest = SIZE_MAX;
      int64_t most_elements = 0;
      for (const auto& [operation, view] : views) {
        fewest = std::min(fewest, view.ranks.size());
        most_elements = std::max(most_elements, view.elements);
      }
      for (const auto& [operation, view] : views) {
        if (view.ranks.size() != fewest) continue;
        for (int32_t rank : view.ranks) {
          Suspect* suspect = ForRank(rank);
          if (suspect == nullptr) {
            suspect = AddSilent(rank);
            SetRoot(suspect, view.first);
            suspect->signature = "derived.other_operation";
            suspect->fault_class = FaultClass::kData;
          }
          if (HasTerm(*suspect, "other_operation")) continue;
          suspect->Add("other_operation", weights::kOtherOperation / static_cast<double>(view.ranks.size()),
                       Cat("rank ", rank, " waited in ", operation, " where others had another operation or size"));
          if (view.elements <= kScalarElements && most_elements >= kGradientElements) {
            suspect->Add("scalar_among_gradients", weights::kScalarAmongGradients,
                         "it reduces a single number, as metrics and validation do, while others reduce gradients");
          }
        }
      }
    }
  }

  static bool HasTerm(const Suspect& suspect, std::string_view name) {
    return std::any_of(suspect.terms.begin(), suspect.terms.end(), [&](const Term& term) { return term.name == name; });
  }

  static void SetRoot(Suspect* suspect, const PlacedEvent* event) {
    suspect->root = event;
    suspect->signature = std::string(event->id());
    suspect->own = {event};
  }

  // Killed processes write nothing; the launcher's report says that and which.
  void EndedBySignal() {
    for (const PlacedEvent& event : incident_.events) {
      for (const ElasticReport& report : event.event->reports) {
        if (!report.rank || !report.exit_code || *report.exit_code >= 0) continue;
        const v1::ExitMeaning* meaning = incident_.catalogue->Exit(*report.exit_code);
        const bool suspicious = *report.exit_code == -9 || (meaning != nullptr && meaning->role() == "initiating");
        if (!suspicious) continue;
        Suspect* suspect = ForRank(*report.rank);
        if (suspect != nullptr && suspect->root != nullptr) continue;  // weighed there
        if (suspect == nullptr) suspect = AddSilent(*report.rank);
        SetRoot(suspect, &event);
        suspect->signature = "derived.killed";
        suspect->fault_class = meaning == nullptr ? FaultClass::kUndetermined
                                                  : FaultClassFromWord(meaning->class_()).value_or(FaultClass::kUndetermined);
        suspect->Add("killed_silently", weights::kKilledSilently,
                     Cat("rank ", *report.rank, " ended with ", meaning == nullptr ? Cat("signal ", -*report.exit_code) : meaning->name(),
                         " and wrote no reason"));
      }
    }
  }

  // --- terms that every suspect gets alike
  void Weigh(Suspect* suspect) {
    if (suspect->root != nullptr && !suspect->root->signature->row.accuses_peer() && suspect->root->event->reports.empty() &&
               !IsWaiter(suspect->root->id())) {
      WeighOwnLine(suspect);
    }
    WeighSurroundings(suspect);
  }

  void WeighOwnLine(Suspect* suspect) {
    const PlacedEvent& root = *suspect->root;
    const std::string line = Quote(root.event->text);
    switch (root.signature->role) {
      case Role::kInitiating:
        suspect->Add("initiating", weights::kInitiating, Cat("its own line states a cause: ", line));
        break;
      case Role::kAmbiguous:
        suspect->Add("ambiguous", weights::kAmbiguous, Cat("its own line may be a cause or an effect: ", line));
        break;
      case Role::kPrecursor:
        suspect->Add("precursor", weights::kPrecursor, Cat("only a warning: ", line));
        break;
      default:
        suspect->Add("collateral", weights::kCollateral, Cat("its own line is usually an effect: ", line));
    }
    if (root.signature->severity == Severity::kFatal) {
      suspect->Add("fatal", weights::kFatal, "such a line ends the process or the device");
    }
    const bool kernel = root.event->prefix.kernel || root.source->info.kind == SourceInfo::Kind::kKernelLog;
    if (kernel && root.signature->role == Role::kInitiating) {
      suspect->Add("hardware_kernel", weights::kHardwareKernel, "the kernel itself reports it");
    }
    if (root.signature->row.producer() == "python" && root.signature->row.wrapper()) {
      suspect->Add("generic_exception", weights::kGenericException, "an exception of a general kind: its text names no known fault");
    }
    for (const Suspect& other : suspects_) {
      if (&other == suspect || other.root == nullptr || other.place.rank != suspect->place.rank || other.place.host != suspect->place.host) continue;
      if (other.root->signature->role >= root.signature->role && other.root->signature->role >= Role::kAmbiguous &&
          !other.root->signature->row.accuses_peer() && PrintedBefore(*other.own.front(), *suspect->own.front())) {
        suspect->Add("later_in_same_process", weights::kLaterInSameProcess,
                     Cat("another cause stands before it at the same place: ", Quote(other.root->event->text)));
        break;
      }
    }
    for (const PlacedEvent& event : incident_.events) {
      if (IsWaiter(event.id()) && suspect->place.rank && event.place.rank == suspect->place.rank && PrintedBefore(event, *suspect->own.front())) {
        suspect->Add("after_watchdog", weights::kAfterWatchdog, "it came behind this rank's own time-out");
        break;
      }
    }
  }

  void WeighSurroundings(Suspect* suspect) {
    bool effects_elsewhere = false, other_cause = false;
    for (const PlacedEvent& event : incident_.events) {
      const bool elsewhere = suspect->all_ranks ? false : !SamePlace(*suspect, event);
      if (!elsewhere) continue;
      const Role role = event.signature->role;
      effects_elsewhere |= role == Role::kCollateral || role == Role::kTeardown;
      other_cause |= role == Role::kInitiating && !event.signature->row.wrapper();
    }
    if (effects_elsewhere) suspect->Add("explains_others", weights::kExplainsOthers, "other places show effects that it explains");
    if (!other_cause && suspect->root != nullptr && suspect->root->signature->role >= Role::kAmbiguous) {
      suspect->Add("alone", weights::kAlone, "no other place has a cause of its own");
    }
    for (const PlacedEvent& event : incident_.events) {
      for (const ElasticReport& report : event.event->reports) {
        if (!report.is_root || !report.rank || suspect->place.rank != report.rank) continue;
        suspect->Add("launcher_points", weights::kLauncherPoints, Cat("torchrun on ", report.host, " saw rank ", *report.rank, " end first"));
        if (report.exit_code) {
          const v1::ExitMeaning* meaning = incident_.catalogue->Exit(*report.exit_code);
          if (meaning != nullptr && meaning->role() != "teardown" && meaning->role() != "collateral") {
            suspect->Add("exit_agrees", weights::kExitAgrees, Cat("its exit code is ", *report.exit_code));
          }
        }
        return;
      }
    }
  }

  static bool SamePlace(const Suspect& suspect, const PlacedEvent& event) {
    if (event.place.rank && !suspect.ranks.empty()) {
      return std::find(suspect.ranks.begin(), suspect.ranks.end(), *event.place.rank) != suspect.ranks.end();
    }
    if (!event.place.host.empty() || !suspect.place.host.empty()) return event.place.host == suspect.place.host;
    return suspect.root != nullptr && suspect.root->source == event.source;
  }

  void Rank() {
    double total = std::exp(weights::kNobody);
    for (const Suspect& suspect : suspects_) total += std::exp(suspect.score);
    for (Suspect& suspect : suspects_) suspect.probability = std::exp(suspect.score) / total;
    std::stable_sort(suspects_.begin(), suspects_.end(), [](const Suspect& a, const Suspect& b) {
      if (a.score != b.score) return a.score > b.score;
      if (a.place.rank != b.place.rank) return a.place.rank.value_or(INT32_MAX) < b.place.rank.value_or(INT32_MAX);
      if (a.place.host != b.place.host) return a.place.host < b.place.host;
      return a.signature < b.signature;
    });
  }

  const Incident& incident_;
  std::vector<Suspect> suspects_;
};

}  // namespace

std::vector<Suspect> FindSuspects(const Incident& incident) { return Finder(incident).Find(); }

bool WentOn(const Incident&, const PlacedEvent& event) {
  // Two more steps of the same writer: one line may have been in flight when the fault was printed.
  constexpr int kStepsAfter = 2;
  int after = 0;
  for (const Progress& progress : event.source->progress) {
    if (progress.bar || progress.at.byte_offset <= event.event->last_at.byte_offset) continue;
    if (progress.rank && event.place.rank && *progress.rank != *event.place.rank) continue;
    ++after;
  }
  return after >= kStepsAfter;
}

bool AnythingFailed(const Incident& incident) {
  for (const PlacedEvent& event : incident.events) {
    if (event.signature->role <= Role::kPrecursor || event.signature->severity < Severity::kError) continue;
    if (!WentOn(incident, event)) return true;
  }
  return false;
}

std::string PlaceName(const Location& place, bool all_ranks, const SourceDigest* source) {
  if (all_ranks) return "all ranks";
  if (place.rank) return place.host.empty() ? Cat("rank ", *place.rank) : Cat("rank ", *place.rank, " on ", place.host);
  if (!place.host.empty()) return Cat("host ", place.host);
  return source == nullptr ? "an unknown place" : source->info.path;
}

}  // namespace firstfault
