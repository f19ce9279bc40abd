#include "correlate/suspects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "correlate/clock_align.h"
#include "correlate/evidence.h"
#include "correlate/explain.h"
#include "correlate/oom.h"
#include "correlate/silent.h"
#include "correlate/text.h"
#include "correlate/weights.h"

namespace firstfault {
namespace {

// Which of two lines of one fault states it best: the cause before its wrapper, the process's own traceback
// before a logger's copy, the line that ends something before one that only tells of it, its own log before the
// launcher's report and before what other ranks relay, then the first.
bool BetterRoot(const PlacedEvent& a, const PlacedEvent& b) {
  const auto rank = [](const PlacedEvent& event) {
    return std::make_tuple(event.signature->role, !event.signature->row.wrapper(), event.event->in_traceback,
                           event.signature->severity, !event.event->prefix.launcher, !event.event->relayed);
  };
  return rank(a) > rank(b);
}

class Finder {
 public:
  Finder(const Incident& incident, const JobClock& clock)
      : incident_(incident),
        clock_(clock),
        hosts_with_ranks_(HostsWithRanks(incident)),
        first_effects_(FirstEffects()),
        only_with_remarks_(OnlyRankWithRemarks(incident)) {}

  std::vector<Suspect> Find() {
    CollectOwnLines();
    FoldSameFault();
    JoinKernelToRank();
    for (const Vote& vote : kVotes) FoldOddOneOut(vote);
    FoldAlike();
    Explain();
    AddSilentSuspects(incident_, &suspects_);
    FoldNodeOfPod();
    Explain();
    PlaceByPrecursor();
    PlaceByRemark();
    for (Suspect& suspect : suspects_) Weigh(&suspect);
    Rank();
    return std::move(suspects_);
  }

 private:
  // --- one suspect for each (place, signature) whose line can be a cause
  void CollectOwnLines() {
    std::map<std::pair<std::string, std::string>, size_t> index;
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role < Role::kAmbiguous || event.signature->row.accuses_peer()) continue;
      if (IsEndReport(event.id()) || !event.event->reports.empty() || WentOn(incident_, event) || IsReaction(event)) continue;
      const auto key = std::make_pair(KeyOf(event), std::string(event.id()));
      const auto [it, fresh] = index.try_emplace(key, suspects_.size());
      if (fresh) suspects_.emplace_back();
      Suspect& suspect = suspects_[it->second];
      suspect.own.push_back(&event);
      if (suspect.root == nullptr || BetterRoot(event, *suspect.root)) SetRoot(&suspect, &event);
    }
  }

  // An order to stop that a launcher gives behind its own report of an end, or of its cause, is its reaction.
  bool IsReaction(const PlacedEvent& event) const {
    if (!IsStopSignal(event.id())) return false;
    const auto before = [&](const PlacedEvent& other) {
      return other.signature->row.producer() == event.signature->row.producer() && PrintedBefore(other, event);
    };
    return std::any_of(incident_.ends.begin(), incident_.ends.end(), [&](const EndReport& end) {
             return !end.told_to && end.exit_code.value_or(0) != 0 && before(*end.event);
           }) ||
           std::any_of(incident_.events.begin(), incident_.events.end(), [&](const PlacedEvent& other) {
             return other.signature->role == Role::kInitiating && before(other);
           });
  }

  static void SetRoot(Suspect* suspect, const PlacedEvent* event) {
    suspect->root = event;
    suspect->place = event->place;
    suspect->ranks.clear();
    if (event->place.rank) suspect->ranks = {*event->place.rank};
    suspect->fault_class = event->signature->fault_class;
    suspect->signature = std::string(event->id());
  }

  // Several lines of one family at one place tell one fault (the OOM killer's constraint and its kill).
  void FoldSameFault() {
    using Key = std::tuple<std::string, std::string_view, std::optional<int32_t>, std::string>;
    std::map<Key, size_t> first;
    std::set<size_t> gone;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      const Suspect& suspect = suspects_[i];
      Key key{KeyOf(*suspect.root), FamilyOf(suspect.root->id()), suspect.place.pid, suspect.place.bus};
      const auto [it, fresh] = first.try_emplace(std::move(key), i);
      if (fresh) continue;
      Suspect& lead = suspects_[it->second];
      const PlacedEvent* root = BetterRoot(*suspect.root, *lead.root) ? suspect.root : lead.root;
      Absorb(&lead, suspect);
      SetRoot(&lead, root);
      gone.insert(i);
    }
    for (const auto& [key, lead] : first) SortOwn(&suspects_[lead]);
    Erase(gone);
  }

  static void Absorb(Suspect* suspect, const Suspect& other) {
    suspect->own.insert(suspect->own.end(), other.own.begin(), other.own.end());
    for (int32_t rank : other.ranks) {
      if (std::find(suspect->ranks.begin(), suspect->ranks.end(), rank) == suspect->ranks.end()) suspect->ranks.push_back(rank);
    }
  }

  // After one or many Absorb().
  static void SortOwn(Suspect* suspect) {
    std::stable_sort(suspect->own.begin(), suspect->own.end(), [](const PlacedEvent* a, const PlacedEvent* b) {
      if (a->source != b->source) return a->source->info.path < b->source->info.path;
      return a->event->at.byte_offset < b->event->at.byte_offset;
    });
  }

  // A kernel line names a host and a device, seldom a rank. Where exactly one rank of that host is silent
  // while its peers timed out, the device's owner is that rank.
  void JoinKernelToRank() {
    for (Suspect& suspect : suspects_) {
      if (suspect.place.rank || !FromKernel(*suspect.root)) continue;
      if (suspect.fault_class == FaultClass::kTransport && !suspect.place.bus.empty()) continue;  // a NIC serves all
      const std::vector<int32_t> silent = SilentRanks(incident_, suspect.place.host);
      if (silent.size() != 1) continue;
      const auto facts = incident_.ranks.find(silent[0]);
      const bool other_device = facts != incident_.ranks.end() && !facts->second.bus.empty() && !suspect.place.bus.empty() &&
                                facts->second.bus != suspect.place.bus;
      if (other_device) continue;
      suspect.place.rank = silent[0];
      suspect.ranks = silent;
      suspect.place.known_by.push_back("rank: the only rank without a time-out");
    }
  }

  // Lines that every rank prints, and that name two: "Mismatched version: rank 4 version 22703 rank 0 version 22705".
  // Which of them is the odd one is a matter of majority: the fewest ranks of one kind.
  struct Vote {
    std::string_view own, peer;  // fields with what the two have
    std::string_view rank;       // field with the rank that has the first
    std::string_view what;
  };
  static constexpr Vote kVotes[] = {
      {"version", "peer_version", "group_rank", "version"},
      {"fingerprint", "peer_fingerprint", "rank", "collective"},
  };
  void FoldOddOneOut(const Vote& vote) {
    std::map<std::string, std::set<int32_t>> ranks_of;  // what it is -> ranks
    std::vector<size_t> members;
    const auto voter = [&](const PlacedEvent& event) {
      const Fields& fields = event.event->fields;
      const std::string_view own = FieldOf(fields, vote.own), peer = FieldOf(fields, vote.peer);
      const auto in_group = ParseNumber<int32_t>(FieldOf(fields, vote.rank));
      const auto other = ParseNumber<int32_t>(FieldOf(fields, "peer_rank"));
      // Ranks of a subgroup are numbered anew: only where the group is the job do both numbers count.
      if (own.empty() || peer.empty() || !in_group || !other || event.place.rank.value_or(*in_group) != *in_group) return false;
      ranks_of[std::string(own)].insert(*in_group);
      ranks_of[std::string(peer)].insert(*other);
      return true;
    };
    for (size_t i = 0; i < suspects_.size(); ++i) {
      bool votes = false;
      for (const PlacedEvent* own : suspects_[i].own) votes |= voter(*own);
      if (votes) members.push_back(i);
    }
    if (ranks_of.size() < 2) return;
    std::vector<std::pair<size_t, std::string>> sizes;
    for (const auto& [kind, ranks] : ranks_of) sizes.emplace_back(ranks.size(), kind);
    std::sort(sizes.begin(), sizes.end());
    Suspect& lead = suspects_[members.front()];
    std::set<size_t> gone;
    for (size_t k = 1; k < members.size(); ++k) {
      Absorb(&lead, suspects_[members[k]]);
      gone.insert(members[k]);
    }
    SortOwn(&lead);
    lead.place = Location{};
    if (sizes[0].first == sizes[1].first) {
      // As many with one as with the other: the cause is known, the place is not.
      lead.ranks.clear();
      Erase(gone);
      return;
    }
    const std::set<int32_t>& odd = ranks_of[sizes[0].second];
    // The odd rank's own line leads; else a line that names it.
    for (const PlacedEvent* own : lead.own) {
      if (own->place.rank && odd.contains(*own->place.rank)) {
        lead.root = own;
        break;
      }
    }
    std::set<std::string> hosts;
    for (int32_t rank : odd) {
      const auto facts = incident_.ranks.find(rank);
      hosts.insert(facts == incident_.ranks.end() ? "" : facts->second.host);
    }
    lead.ranks.assign(odd.begin(), odd.end());
    if (odd.size() == 1) lead.place.rank = *odd.begin();
    if (hosts.size() == 1) lead.place.host = *hosts.begin();
    lead.place.known_by.push_back(Cat("rank: the only ", vote.what, " of its kind"));
    lead.Add("odd_one_out", weights::kOddOneOut,
             Cat(vote.what, " ", sizes[0].second, " is that of ", Counted(odd.size(), "rank"), ", another one that of ", sizes.back().first, " others"));
    Erase(gone);
  }

  // Kubernetes tells the loss of a node twice: of the node, and of each pod on it. The job knows the pod's name only.
  // Where one node and one pod are told of, the one runs the other.
  void FoldNodeOfPod() {
    std::vector<size_t> nodes, pods;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      if (!suspects_[i].signature.starts_with("k8s.node") || suspects_[i].place.rank) continue;
      (hosts_with_ranks_.contains(suspects_[i].place.host) ? pods : nodes).push_back(i);
    }
    if (nodes.size() != 1 || pods.size() != 1 || suspects_[nodes[0]].signature != suspects_[pods[0]].signature) return;
    Suspect& pod = suspects_[pods[0]];
    const Suspect& node = suspects_[nodes[0]];
    Absorb(&pod, node);
    SortOwn(&pod);
    pod.root = node.root;
    pod.place.known_by.push_back(Cat("host: the pod on node ", node.place.host));
    Erase({nodes[0]});
  }

  // --- the same fault at several places
  void FoldAlike() {
    // More than half of the ranks with the same cause: a common one, not a coincidence.
    constexpr double kCommon = 0.6;
    std::map<std::string, std::vector<size_t>> by_signature;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      if (!OfAnotherJob(suspects_[i])) by_signature[suspects_[i].signature].push_back(i);
    }
    std::set<size_t> gone;
    for (auto& [signature, members] : by_signature) {
      if (members.size() < 2) continue;
      std::set<std::string> hosts;
      std::set<int32_t> ranks;
      std::set<const PlacedEvent*> raised;  // in logs that do not tell ranks apart: an end of a process each
      for (size_t i : members) {
        hosts.insert(suspects_[i].place.host);
        ranks.insert(suspects_[i].ranks.begin(), suspects_[i].ranks.end());
        for (const PlacedEvent* own : suspects_[i].own) {
          if (!own->place.rank && own->event->in_traceback) raised.insert(own);
        }
      }
      const size_t seen = std::max<size_t>(incident_.ranks.size(), static_cast<size_t>(incident_.world_size.value_or(0)));
      // Launchers are told to stop by host: most of those that speak is one order to the whole job.
      std::set<std::string> speakers;
      for (const PlacedEvent& event : incident_.events) {
        if (event.signature->row.producer() == suspects_[members[0]].root->signature->row.producer()) speakers.insert(event.place.host);
      }
      const bool stopped_all = IsStopSignal(signature) && hosts.size() >= 2 &&
                               static_cast<double>(hosts.size()) >= kCommon * static_cast<double>(speakers.size());
      const size_t processes = std::max(ranks.size(), raised.size());
      const bool everyone =
          stopped_all || (processes >= 2 && static_cast<double>(processes) >= kCommon * static_cast<double>(seen));
      const bool one_host = hosts.size() == 1 && !hosts.begin()->empty();
      if (!everyone && !(one_host && incident_.hosts.size() > 1)) continue;
      // A line that names a rank as the odd one out is no common fault, whoever prints it.
      if (!suspects_[members[0]].root->accused_ranks.empty()) continue;
      // The one whose line stands first leads; across logs the lower rank.
      std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
        const PlacedEvent& x = *suspects_[a].root;
        const PlacedEvent& y = *suspects_[b].root;
        if (x.source == y.source) return x.event->at.byte_offset < y.event->at.byte_offset;
        return suspects_[a].place.rank.value_or(INT32_MAX) < suspects_[b].place.rank.value_or(INT32_MAX);
      });
      Suspect& lead = suspects_[members[0]];
      const Location place = lead.place;
      for (size_t k = 1; k < members.size(); ++k) {
        Absorb(&lead, suspects_[members[k]]);
        gone.insert(members[k]);
      }
      SortOwn(&lead);
      lead.all_ranks = everyone;
      if (stopped_all) lead.Add("stopped_alike", weights::kStoppedAlike, Cat(hosts.size(), " launchers were told to stop: one order from outside"));
      lead.place = place;
      if (everyone) {
        lead.place = Location{};
        if (one_host && incident_.hosts.size() == 1) lead.place.host = *hosts.begin();
      }
    }
    Erase(gone);
  }

  void Erase(const std::set<size_t>& gone) {
    std::vector<Suspect> kept;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      if (!gone.contains(i)) kept.push_back(std::move(suspects_[i]));
    }
    suspects_ = std::move(kept);
  }

  // --- effects become evidence of what explains them
  void Explain() {
    std::set<size_t> gone;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      for (size_t j = 0; j < suspects_.size(); ++j) {
        if (i == j || gone.contains(i) || gone.contains(j)) continue;
        Suspect& cause = suspects_[i];
        const Suspect& effect = suspects_[j];
        if (effect.all_ranks || OfAnotherJob(cause) || !Explains(cause, effect, hosts_with_ranks_) || Explains(effect, cause, hosts_with_ranks_)) continue;
        if (!cause.Has("explains_cause")) {
          cause.Add("explains_cause", weights::kExplainsCause,
                    Cat("it explains what ", PlaceName(effect.place, false, effect.root == nullptr ? nullptr : effect.root->source),
                        " shows: ", effect.root == nullptr ? effect.signature : Quote(effect.root->event->text)),
                    CitedLine(effect.root));
        }
        // What others say about the effect holds for its cause.
        for (const Term& term : effect.terms) {
          if (term.weight > 0 && !cause.Has(term.name)) cause.Add(term.name, term.weight, term.sentence, term.line);
        }
        // A network card serves every rank of its host, and the scheduler ends whole jobs; a file server's stall
        // holds the one that waits for it.
        const bool of_a_rank = (cause.fault_class != FaultClass::kTransport || IsStorage(cause.signature)) &&
                               !IsSchedulerDecision(*cause.root->signature) && SameProcess(cause, effect);
        if (!cause.place.rank && effect.place.rank && of_a_rank) {
          if (cause.ranks.empty()) cause.ranks = {*effect.place.rank};
          if (cause.ranks == std::vector<int32_t>{*effect.place.rank}) {
            cause.place.rank = effect.place.rank;
            cause.place.local_rank = effect.place.local_rank;
            cause.place.known_by.push_back("rank: the process that shows the effect");
            // The node of a container is seen under the container's name by everybody else.
            if (!effect.place.host.empty() && !hosts_with_ranks_.contains(cause.place.host)) cause.place.host = effect.place.host;
          } else {
            cause.place.rank.reset();
          }
        } else if (cause.place.host.empty() && !cause.all_ranks && IsEnd(effect)) {
          cause.place.host = effect.place.host;  // what others of the job only suffer may be on any host
        }
        gone.insert(j);
      }
    }
    Erase(gone);
  }

  // The end of a process, not what another one showed of it.
  static bool IsEnd(const Suspect& effect) {
    return effect.signature.starts_with("derived.") || (effect.root != nullptr && IsEndReport(effect.root->id()));
  }

  // Whether an effect tells which process the cause struck: one on its host, one whose node the kernel speaks of,
  // or the end of the process itself. What another host's process lost is not it.
  static bool SameProcess(const Suspect& cause, const Suspect& effect) {
    return IsEnd(effect) || cause.place.host == effect.place.host || cause.place.host.empty() || effect.place.host.empty() || FromKernel(*cause.root);
  }

  // A fault that several places show alike is at home where its own warning stands (a loopback fallback on
  // one host before the mesh fails on all).
  void PlaceByPrecursor() {
    for (Suspect& suspect : suspects_) {
      if (suspect.root == nullptr || (suspect.place.rank && !suspect.all_ranks)) continue;
      std::set<std::string> hosts;
      const PlacedEvent* warning = nullptr;
      for (const PlacedEvent& event : incident_.events) {
        if (event.signature->role != Role::kPrecursor || event.place.host.empty()) continue;
        if (!Precedes(*event.signature, *suspect.root->signature)) continue;
        hosts.insert(event.place.host);
        if (warning == nullptr) warning = &event;
      }
      if (hosts.size() != 1 || incident_.hosts.size() < 2) continue;
      suspect.all_ranks = false;
      suspect.place = warning->place;
      suspect.place.rank.reset();
      // The root moves with the place, where the fault is told there at all; its ranks are those that tell it there.
      suspect.ranks.clear();
      bool told_here = false;
      for (const PlacedEvent* own : suspect.own) {
        if (own->place.host != suspect.place.host) continue;
        if (!told_here || BetterRoot(*own, *suspect.root)) suspect.root = own;
        told_here = true;
        const std::optional<int32_t> rank = own->place.rank;
        if (rank && std::find(suspect.ranks.begin(), suspect.ranks.end(), *rank) == suspect.ranks.end()) suspect.ranks.push_back(*rank);
      }
      suspect.own.insert(suspect.own.begin(), warning);
      suspect.Add("warned_on_one_host", weights::kWarnedOnOneHost, Cat("only this host warned before: ", Quote(warning->event->text)), CitedLine(warning));
    }
  }

  // The first effect on each of the two hosts where effects came first: for each host, one is another's.
  std::vector<std::pair<Interval, const PlacedEvent*>> FirstEffects() const {
    std::vector<std::pair<Interval, const PlacedEvent*>> out;
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role != Role::kCollateral || event.signature->severity < Severity::kError) continue;
      const TimeBounds bounds = clock_.BoundsOf(event);
      if (!bounds.earliest_ns || !bounds.latest_ns || event.place.host.empty() || WentOn(incident_, event)) continue;
      const Interval interval{*bounds.earliest_ns, *bounds.latest_ns};
      const auto here = std::find_if(out.begin(), out.end(), [&](const auto& other) { return other.second->place.host == event.place.host; });
      if (here == out.end()) {
        out.emplace_back(interval, &event);
      } else if (interval.latest_ns < here->first.latest_ns) {
        *here = {interval, &event};
      }
      std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first.latest_ns < b.first.latest_ns; });
      if (out.size() > 2) out.pop_back();
    }
    return out;
  }

  // A cause that surely came behind an effect on another host has not caused that. By intervals only: clocks that
  // allow both orders say nothing.
  void WeighTime(Suspect* suspect) const {
    if (suspect->own.empty() || suspect->all_ranks) return;
    const TimeBounds bounds = clock_.BoundsOf(*suspect->own.front());
    if (!bounds.earliest_ns) return;
    const Interval own{*bounds.earliest_ns, bounds.latest_ns.value_or(INT64_MAX)};
    for (const auto& [interval, effect] : first_effects_) {
      if (effect->place.host == suspect->place.host || Compare(interval, own) != Order::kBefore) continue;
      suspect->Add("after_effects", weights::kAfterEffects,
                   Cat("by the aligned clocks ", PlaceName(effect->place, false, effect->source), " showed an effect before it: ",
                       Quote(effect->event->text)),
                   CitedLine(effect));
      return;
    }
  }

  // A value that is not finite reaches every rank by the next reduction, so all fail alike; it came from one.
  void PlaceByRemark() {
    const std::optional<int32_t> only = only_with_remarks_;
    if (!only) return;
    for (Suspect& suspect : suspects_) {
      if (!suspect.all_ranks || FamilyOf(suspect.signature) != "nan") continue;
      const auto own = std::find_if(suspect.own.begin(), suspect.own.end(),
                                    [&](const PlacedEvent* event) { return event->place.rank == only; });
      suspect.all_ranks = false;
      suspect.place = own != suspect.own.end() ? (*own)->place : Location{};
      if (own != suspect.own.end()) suspect.root = *own;
      suspect.place.rank = only;
      if (suspect.place.host.empty()) suspect.place.host = incident_.ranks.at(*only).host;
      suspect.place.known_by.push_back("rank: it alone warned before");
      suspect.ranks = {*only};
    }
  }

  // --- terms that every suspect gets alike
  void Weigh(Suspect* suspect) {
    const bool own_line = suspect->root != nullptr && !suspect->root->signature->row.accuses_peer() &&
                          suspect->root->event->reports.empty() && !IsWaiter(suspect->root->id()) &&
                          !IsEndReport(suspect->root->id()) && !suspect->Has("accused_by_cause") &&
                          !suspect->signature.starts_with("derived.");
    if (own_line) {
      WeighOwnLine(suspect);
      WeighTime(suspect);
    }
    WeighSurroundings(suspect);
    if (suspect->place.rank && !suspect->all_ranks && suspect->place.rank == only_with_remarks_) {
      const PlacedRemark& last = incident_.ranks.at(*only_with_remarks_).remarks.back();
      suspect->Add("only_with_remarks", weights::kOnlyWithRemarks,
                   Cat("it alone warned while the job trained: ", Quote(last.remark->text)), CitedLine(last.source, last.remark->at));
    }
  }

  // The line that states the fault stands at another place: peers tell it, or the node of a container.
  static bool ToldElsewhere(const Suspect& suspect) {
    const Location& told = suspect.root->place;
    if (suspect.place.rank && told.rank) return suspect.place.rank != told.rank;
    return !suspect.all_ranks && !suspect.place.host.empty() && !told.host.empty() && suspect.place.host != told.host;
  }

  void WeighOwnLine(Suspect* suspect) {
    const PlacedEvent& root = *suspect->root;
    const std::string line = Quote(root.event->text);
    const std::string whose = ToldElsewhere(*suspect) ? Cat("the line of ", PlaceName(root.place, false, root.source)) : "its own line";
    switch (root.signature->role) {
      case Role::kInitiating:
        suspect->Add("initiating", weights::kInitiating, Cat(whose, " states a cause: ", line), CitedLine(&root));
        break;
      case Role::kAmbiguous:
        suspect->Add("ambiguous", weights::kAmbiguous, Cat(whose, " may be a cause or an effect: ", line), CitedLine(&root));
        if (root.event->in_traceback && SpeaksOfItself(root.id())) {
          suspect->Add("raised", weights::kRaised, "its process raised it, about a file or a service of its own, and did not catch it");
        }
        break;
      default:
        suspect->Add("collateral", weights::kCollateral, Cat(whose, " is usually an effect: ", line), CitedLine(&root));
    }
    if (root.signature->severity == Severity::kFatal) {
      suspect->Add("fatal", weights::kFatal, "such a line ends the process or the device");
    }
    // A program that logs its fault as a warning has caught it; what it cannot survive ends in a traceback.
    const bool raised = FamilyOf(root.id()) == "oom" || FamilyOf(root.id()) == "py";
    const bool caught = !root.event->in_traceback && IsCaughtLevel(root.event->prefix.level) &&
                        root.signature->row.producer() != "kernel" && !root.event->prefix.launcher && raised;
    if (caught) suspect->Add("logged_as_warning", weights::kLoggedAsWarning, "it is logged as a warning: the program has caught it");
    if (FromKernel(root) && root.signature->role == Role::kInitiating) {
      suspect->Add("hardware_kernel", weights::kHardwareKernel, "the kernel itself reports it");
    }
    if (root.signature->row.producer() == "python" && root.signature->row.wrapper()) {
      suspect->Add("generic_exception", weights::kGenericException, "an exception of a general kind: its text names no known fault");
      if (!root.event->in_traceback && !root.event->exception.empty()) {
        suspect->Add("without_traceback", weights::kWithoutTraceback, "no traceback stands before it: it may have been caught");
      }
    }
    const bool names_job_host = !root.accused_hosts.empty() && root.accused_hosts[0] != suspect->place.host &&
                                incident_.hosts.contains(root.accused_hosts[0]);
    if (names_job_host) {
      suspect->Add("names_another", weights::kNamesAnother, Cat("its line names another host: ", root.accused_hosts[0]));
    }
    if (OfAnotherJob(*suspect)) {
      suspect->Add("not_of_this_job", weights::kNotOfThisJob, "the victim is no process of this job, as far as these logs know them");
    }
    if (const Progress* step = StepBehind(root)) {
      suspect->Add("job_went_on", weights::kJobWentOn, Cat("the job trained on behind it, up to step ", step->step, " and further"));
    }
    if (const PlacedEvent* wait = WaitBehind(*suspect)) {
      suspect->Add("waited_afterwards", weights::kWaitedAfterwards,
                   Cat("behind it this rank waited for what others wait for: ", Quote(wait->event->text)), CitedLine(wait));
    }
    for (const Suspect& other : suspects_) {
      if (&other == suspect || other.root == nullptr || other.place.rank != suspect->place.rank || other.place.host != suspect->place.host) continue;
      if (other.root->signature->role >= root.signature->role && other.root->signature->role >= Role::kAmbiguous &&
          !other.root->signature->row.accuses_peer() && PrintedBefore(*other.own.front(), *suspect->own.front())) {
        suspect->Add("later_in_same_process", weights::kLaterInSameProcess,
                     Cat("another cause stands before it at the same place: ", Quote(other.root->event->text)), CitedLine(other.root));
        break;
      }
    }
    for (const PlacedEvent& event : incident_.events) {
      if (IsWaiter(event.id()) && suspect->place.rank && event.place.rank == suspect->place.rank && PrintedBefore(event, *suspect->own.front())) {
        suspect->Add("after_watchdog", weights::kAfterWatchdog, "it came behind this rank's own time-out", CitedLine(&event));
        break;
      }
    }
    const bool failed_before = std::any_of(incident_.events.begin(), incident_.events.end(), [&](const PlacedEvent& event) {
      return event.signature->role == Role::kCollateral && PrintedBefore(event, *suspect->own.front());
    });
    if (failed_before && IsBogusRequest(root)) {
      suspect->Add("bogus_request", weights::kBogusRequest,
                   "it asks for more memory than the device has, after something else had failed: the size was read from a broken exchange");
    }
  }

  // Ambiguous exceptions about the files and services that a process uses by itself: no other rank's fault raises them.
  static bool SpeaksOfItself(std::string_view id) {
    constexpr std::string_view kFamilies[] = {"os.enoent", "os.not_found", "os.eexist", "os.ebusy", "os.etxtbsy", "os.enolck",
                                              "os.error",  "wandb.",       "ckpt.",     "objstore.", "te.check"};
    return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](std::string_view family) { return id.starts_with(family); });
  }

  // What ends a process, or takes a GPU, at once: nobody steps on behind it.
  static bool EndsAtOnce(const PlacedEvent& event) {
    constexpr std::string_view kFamilies[] = {"oom.kernel", "seg.", "xid.", "sxid."};
    return FromKernel(event) && std::any_of(std::begin(kFamilies), std::end(kFamilies),
                                            [&](std::string_view family) { return event.id().starts_with(family); });
  }

  // A training step that was surely behind a kernel's line which would have ended the job: that one was of another
  // job, or of another time. Steps that were under way are printed still; hosts are a step apart.
  const Progress* StepBehind(const PlacedEvent& event) const {
    constexpr size_t kStepsAfter = 3;
    if (!EndsAtOnce(event)) return nullptr;
    std::map<int64_t, const Progress*> behind;
    for (const SourceDigest* source : incident_.sources) {
      for (const Progress& progress : source->progress) {
        if (progress.bar || !progress.stamp) continue;
        const auto facts = incident_.ranks.find(progress.rank.value_or(-1));
        const std::string host = facts != incident_.ranks.end() && !facts->second.host.empty() ? facts->second.host
                                 : source->info.host                                           ? ShortHost(source->info.host->value)
                                                                                               : "";
        if (clock_.SurelyBefore(event, *progress.stamp, source->info, host)) behind.try_emplace(progress.step, &progress);
      }
    }
    return behind.size() < kStepsAfter ? nullptr : std::next(behind.begin(), kStepsAfter - 1)->second;
  }

  // A wait of the suspect's own rank, printed behind its line, in the very collective in which other ranks wait: who
  // entered that had survived.
  const PlacedEvent* WaitBehind(const Suspect& suspect) const {
    if (!suspect.place.rank || suspect.all_ranks || IsWaiter(suspect.root->id())) return nullptr;
    const auto key = [](const PlacedEvent& event) {
      return std::make_tuple(std::string_view(event.event->prefix.group), FieldOf(event.event->fields, "seq"), FieldOf(event.event->fields, "op"));
    };
    for (const PlacedEvent& own : incident_.events) {
      if (own.place.rank != suspect.place.rank || !IsWaiter(own.id()) || FieldOf(own.event->fields, "seq").empty()) continue;
      if (own.source == suspect.root->source && !PrintedBefore(*suspect.root, own)) continue;
      const bool shared = std::any_of(incident_.events.begin(), incident_.events.end(), [&](const PlacedEvent& other) {
        return other.place.rank && other.place.rank != own.place.rank && IsWaiter(other.id()) && key(other) == key(own);
      });
      if (shared) return &own;
    }
    return nullptr;
  }

  // Every rank of this host is known to have done something else than to be ended so.
  bool NoneEndedSo(const std::string& host, std::string_view kernel_death) const {
    bool any = false;
    for (const auto& [rank, facts] : incident_.ranks) {
      if (facts.host != host) continue;
      any = true;
      const bool effect = std::any_of(incident_.events.begin(), incident_.events.end(), [&, rank = rank](const PlacedEvent& event) {
        return event.place.rank == rank && event.signature->role == Role::kCollateral && !IsEndReport(event.id());
      });
      const bool other_end = std::any_of(incident_.ends.begin(), incident_.ends.end(), [&, rank = rank](const EndReport& end) {
        return end.rank == rank && end.exit_code && !LeavesCode(kernel_death, *end.exit_code);
      });
      if (!effect && !other_end) return false;
    }
    return any;
  }

  // The GPUs of all ranks of this host are known, and this is none of them.
  bool GpuOfNoRank(const Location& place) const {
    bool any = false;
    for (const auto& [rank, facts] : incident_.ranks) {
      if (facts.host != place.host) continue;
      if (facts.bus.empty() || facts.bus == place.bus) return false;
      any = true;
    }
    return any && !place.bus.empty();
  }

  // The kernel ended a process that no rank owns, or speaks of a GPU that no rank has: each rank of the host is accounted
  // for, or another victim is a rank.
  bool OfAnotherJob(const Suspect& suspect) const {
    if (suspect.root == nullptr || suspect.place.rank || !FromKernel(*suspect.root)) return false;
    if (suspect.root->id().starts_with("xid.") && GpuOfNoRank(suspect.place)) return true;
    if (!suspect.place.pid) return false;
    const bool death = suspect.root->id().starts_with("oom.kernel") || suspect.root->id().starts_with("seg.");
    if (death && NoneEndedSo(suspect.place.host, suspect.root->id())) return true;
    return std::any_of(suspects_.begin(), suspects_.end(), [&](const Suspect& other) {
      return &other != &suspect && other.place.rank && FamilyOf(other.signature) == FamilyOf(suspect.signature);
    });
  }

  void WeighSurroundings(Suspect* suspect) {
    bool effects_elsewhere = false, other_cause = false, any_cause = false;
    for (const Suspect& other : suspects_) {
      const bool cause = other.root != nullptr && !IsStopSignal(other.signature) &&
                         (other.root->signature->role == Role::kInitiating || other.Has("accused_host") || other.Has("accused_rank"));
      any_cause |= cause && &other != suspect;
    }
    for (const PlacedEvent& event : incident_.events) {
      if (suspect->all_ranks || SamePlace(*suspect, event)) continue;
      const Role role = event.signature->role;
      effects_elsewhere |= role == Role::kCollateral || role == Role::kTeardown;
      other_cause |= role == Role::kInitiating && !event.signature->row.wrapper();
    }
    if (effects_elsewhere) suspect->Add("explains_others", weights::kExplainsOthers, "other places show effects that it explains");
    if (!other_cause && suspect->root != nullptr && suspect->root->signature->role >= Role::kAmbiguous) {
      suspect->Add("alone", weights::kAlone, "no other place has a cause of its own");
    }
    if (IsStopSignal(suspect->signature)) {
      // A launcher that first reports the end of a process, and then stops the rest, reacts to that end.
      const bool ended_before = std::any_of(incident_.ends.begin(), incident_.ends.end(), [&](const EndReport& end) {
        return !end.told_to && end.exit_code.value_or(0) != 0 && PrintedBefore(*end.event, *suspect->root);
      });
      if (any_cause || ended_before) {
        suspect->Add("stopped_after_cause", weights::kStoppedAfterCause, "being told to stop is an effect where a cause is seen");
      } else {
        suspect->Add("stopped_first", weights::kStoppedFirst, "nothing failed before this process was told to stop");
        const Fields& fields = suspect->root->event->fields;
        if (FieldOf(fields, "signal_number") == "2" || FieldOf(fields, "signal") == "SIGINT") {
          suspect->Add("interrupted", weights::kInterrupted, "by an interrupt (signal 2), which a keyboard or a user's script sends");
        }
      }
    }
    for (const EndReport& end : incident_.ends) {
      if (!end.rank || end.told_to || suspect->place.rank != end.rank || suspect->all_ranks) continue;
      const v1::ExitMeaning* meaning = end.exit_code ? incident_.catalogue->Exit(*end.exit_code) : nullptr;
      if (end.first && !suspect->Has("launcher_points")) {
        suspect->Add("launcher_points", weights::kLauncherPoints, Cat("the launcher on ", end.host, " saw rank ", *end.rank, " end first"), CitedLine(end.event));
      } else if (!end.first && !suspect->Has("end_reported")) {
        suspect->Add("end_reported", weights::kEndReported, Cat("its end is reported: ", Quote(end.event->event->text)), CitedLine(end.event));
      }
      if (meaning != nullptr && meaning->role() != "teardown" && meaning->role() != "collateral" && !suspect->Has("exit_agrees")) {
        suspect->Add("exit_agrees", weights::kExitAgrees, Cat("its exit code is ", *end.exit_code), CitedLine(end.event));
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
  const JobClock& clock_;
  const std::set<std::string> hosts_with_ranks_;
  const std::vector<std::pair<Interval, const PlacedEvent*>> first_effects_;
  const std::optional<int32_t> only_with_remarks_;
  std::vector<Suspect> suspects_;
};

}  // namespace

std::vector<Suspect> FindSuspects(const Incident& incident, const JobClock& clock) { return Finder(incident, clock).Find(); }

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
    if (WentOn(incident, event)) continue;
    // A stall that the kernel reports (a file server, a blocked task) may pass; the job says if it did not.
    if (FromKernel(event) && event.signature->role == Role::kAmbiguous) continue;
    // A process that has made its last step and still hears its peers leave says so as a warning.
    if (incident.steps_done && event.signature->role == Role::kCollateral && event.event->prefix.level == "W") continue;
    // Work that was completed leaves noise on its way out: closing stores, late signals, an earlier attempt.
    if (incident.success) continue;
    return true;
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
