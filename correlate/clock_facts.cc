#include "correlate/clock_facts.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "correlate/check.h"
#include "correlate/evidence.h"
#include "correlate/explain.h"
#include "correlate/parse/stamp.h"
#include "correlate/suspects.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr int64_t kDayNs = 86400 * kSecondNs;
// A line may be printed this much after what it tells: buffered output took 0.6 s at the 99th percentile
// (engine notes, section 3).
constexpr int64_t kPrintNs = kSecondNs;
// Ranks in lock-step enter a collective within this of each other, a slow step apart; ranks of one host,
// whose clock is the same, show how much it is in this job, and the slack grows by that.
constexpr int64_t kLockStepNs = 2 * kSecondNs;
// A printed step takes no longer than this many times the mean of the steps since the one printed before it:
// it may have saved a checkpoint, or waited for data.
constexpr int64_t kStepsOfMean = 10;
// A step of unknown length: the longest of large jobs.
constexpr int64_t kLoneStepNs = 30 * kSecondNs;
// Members of a communicator print COMPLETE within this of each other: channels are set up after the last
// barrier, in seconds on large jobs.
constexpr int64_t kInitNs = 5 * kSecondNs;
// The first time-out is seen by the others about a second later, through a store that is polled every second
// (signatures, section 1.2); ten times that for a store under load.
constexpr int64_t kDumpSignalNs = 10 * kSecondNs;
// Lines of one log stand this much out of order where writers share it and buffer; more is another clock.
constexpr int64_t kBackwardsNs = 60 * kSecondNs;
// Stamps after 2199 are misread numbers.
constexpr int64_t kReadingMaxNs = 7'258'000'000 * kSecondNs;

constexpr ClockFactRow kRows[] = {
    // Init returns nowhere before every member has begun it.
    {ClockFactKind::kCommunicatorInit, "same communicator set-up", kPrintNs, kInitNs},
    // Nobody ends a step whose last collective a peer has not entered, so not before the peer ended the step
    // before.
    {ClockFactKind::kStep, "same training step", kPrintNs, std::nullopt},
    // Below the steps: the rank that is late at the last collective may be the culprit, and looks like a slow
    // clock.
    {ClockFactKind::kCollective, "same collective", kLockStepNs, kLockStepNs},
    {ClockFactKind::kDumpSignal, "time-out signalled by a peer", kPrintNs, kDumpSignalNs},
    // The kernel closes a process's connections at its end; when that is noticed is open.
    {ClockFactKind::kPeerClosed, "connection closed by a failed peer", kPrintNs, std::nullopt},
    // Launchers stop workers after a fault; weakest, since the fault may be an unrelated one.
    {ClockFactKind::kTeardown, "stopped after the only fault", kPrintNs, std::nullopt},
};

// A connection that the far end closed: the process there has ended.
constexpr std::string_view kPeerClosedIds[] = {"nccl.net.peer_closed", "gloo.closed", "gloo.reset"};

bool IsWall(const ClockReading& stamp) {
  return stamp.clock == Stamp::Clock::kWallUtc || stamp.clock == Stamp::Clock::kWallLocal;
}

// What several ranks of one clock printed about one thing: bounds of the earliest and of the latest of them.
struct Extent {
  int64_t first_ns = INT64_MAX, first_late_ns = INT64_MAX;  // the earliest: not before, not after
  int64_t last_early_ns = INT64_MIN, last_ns = INT64_MIN;   // the latest: likewise

  void Join(int64_t first, int64_t last) {
    first_ns = std::min(first_ns, first);
    first_late_ns = std::min(first_late_ns, last);
    last_early_ns = std::max(last_early_ns, first);
    last_ns = std::max(last_ns, last);
  }
  int64_t Middle() const { return first_ns + (last_ns - first_ns) / 2; }
};

using Steps = std::map<int64_t, Extent>;
template <typename T>
using ByClock = std::map<size_t, T>;

struct Init {
  std::optional<Extent> start, complete;
};

// Steps of one writer, in the order of its lines.
using StepRun = std::vector<std::pair<int64_t, Reading>>;

// An effect that its cause precedes.
struct Edge {
  ClockFactKind kind;
  Reading cause, effect;
};

class Collector {
 public:
  Collector(const Incident& incident, const StampReader& reader)
      : incident_(incident), reader_(reader), seen_(reader.clocks().size()), backwards_(seen_.size()) {}

  ClockFacts Collect() {
    CollectEvents();
    CheckOrder();
    for (const SourceDigest* source : incident_.sources) {
      CollectInits(*source);
      CollectSteps(*source);
    }
    LeaveOutRepeatedSteps();
    CollectFaults();
    CollectCausedEdges();
    return Pair();
  }

 private:
  std::optional<Reading> Read(const std::optional<ClockReading>& stamp, const SourceDigest& source,
                              std::string_view host) {
    if (!stamp) return std::nullopt;
    std::optional<Reading> reading = reader_.Read(*stamp, source.info, host);
    if (reading) seen_[reading->clock] = true;
    return reading;
  }

  std::optional<Reading> Read(const PlacedEvent& event) {
    return Read(event.event->prefix.stamp, *event.source, event.place.host);
  }

  // Whose words a line without an event is: the rank's host, else the file's.
  std::string HostOf(const SourceDigest& source, std::optional<int32_t> rank) const {
    const auto facts = rank ? incident_.ranks.find(*rank) : incident_.ranks.end();
    if (facts != incident_.ranks.end() && !facts->second.host.empty()) return facts->second.host;
    if (source.info.host) return ShortHost(source.info.host->value);
    const auto known = host_of_source_.find(&source);
    return known == host_of_source_.end() ? "" : known->second;
  }

  void CollectEvents() {
    for (const PlacedEvent& event : incident_.events) {
      if (!event.place.host.empty()) host_of_source_.try_emplace(event.source, event.place.host);
      const auto reading = Read(event);
      if (!reading || !IsWaiter(event.id())) continue;
      if (event.place.rank) time_outs_.try_emplace(*event.place.rank, *reading);
      const Fields& fields = event.event->fields;
      const auto ran_ms = ParseNumber<int64_t>(FieldOf(fields, "elapsed_ms"));
      const std::string_view seq = FieldOf(fields, "seq");
      if (seq.empty() || !ran_ms || *ran_ms < 0 || *ran_ms > kDayNs / 1'000'000) continue;
      // The operation too: who waits in another one at the same number is not in step.
      const int64_t ran = *ran_ms * 1'000'000;
      collectives_[Cat(event.event->prefix.group, "\n", seq, "\n", FieldOf(fields, "op"), "\n",
                       FieldOf(fields, "numel_in"))][reading->clock]
          .Join(reading->first_ns - ran, reading->last_ns - ran);
    }
  }

  // Events are in the order of their logs.
  void CheckOrder() {
    const SourceDigest* source = nullptr;
    std::map<size_t, int64_t> latest;
    std::vector<std::pair<uint64_t, Reading>> lines;
    const auto check = [&] {
      if (source == nullptr) return;
      for (const Progress& progress : source->progress) {
        const auto reading = Read(progress.stamp, *source, HostOf(*source, progress.rank));
        if (reading) lines.emplace_back(progress.at.byte_offset, *reading);
      }
      std::stable_sort(lines.begin(), lines.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      latest.clear();
      for (const auto& [offset, reading] : lines) {
        const auto [it, fresh] = latest.try_emplace(reading.clock, reading.first_ns);
        if (!fresh && reading.last_ns < it->second - kBackwardsNs) backwards_[reading.clock] = true;
        it->second = std::max(it->second, reading.first_ns);
      }
      lines.clear();
    };
    for (const PlacedEvent& event : incident_.events) {
      if (event.source != source) check();
      source = event.source;
      if (const auto reading = Read(event)) lines.emplace_back(event.event->at.byte_offset, *reading);
    }
    check();
  }

  void CollectInits(const SourceDigest& source) {
    for (const Event& fact : source.facts) {
      const std::string_view group = FieldOf(fact.fields, "group_guid");
      const std::string_view status = FieldOf(fact.fields, "status");
      if (group.empty() || (status != "START" && status != "COMPLETE")) continue;
      const std::string host =
          fact.prefix.host.empty() ? HostOf(source, fact.prefix.rank) : ShortHost(fact.prefix.host);
      const auto reading = Read(fact.prefix.stamp, source, host);
      if (!reading) continue;
      Init& init = inits_[std::string(group)][reading->clock];
      std::optional<Extent>& extent = status == "START" ? init.start : init.complete;
      if (!extent) extent.emplace();
      extent->Join(reading->first_ns, reading->last_ns);
    }
  }

  void CollectSteps(const SourceDigest& source) {
    std::map<std::optional<int32_t>, StepRun> writers;
    for (const Progress& progress : source.progress) {
      if (progress.bar) continue;
      const auto reading = Read(progress.stamp, source, HostOf(source, progress.rank));
      if (reading) writers[progress.rank].emplace_back(progress.step, *reading);
    }
    for (auto& [rank, run] : writers) runs_.push_back(std::move(run));
  }

  // A number that comes again (another epoch, a restart from a checkpoint, another counter) names no instant:
  // what any writer repeats is left out for all.
  void LeaveOutRepeatedSteps() {
    std::vector<std::pair<int64_t, int64_t>> repeated;
    for (const StepRun& run : runs_) {
      int64_t highest = INT64_MIN, low = INT64_MAX;
      for (const auto& [step, reading] : run) {
        if (step <= highest) low = std::min(low, step);
        highest = std::max(highest, step);
      }
      if (low != INT64_MAX) repeated.emplace_back(low, highest);
    }
    std::sort(repeated.begin(), repeated.end());
    std::vector<std::pair<int64_t, int64_t>> merged;
    for (const auto& range : repeated) {
      if (!merged.empty() && range.first <= merged.back().second) {
        merged.back().second = std::max(merged.back().second, range.second);
      } else {
        merged.push_back(range);
      }
    }
    for (const StepRun& run : runs_) {
      for (const auto& [step, reading] : run) {
        const auto after = std::upper_bound(merged.begin(), merged.end(), std::make_pair(step, INT64_MAX));
        if (after != merged.begin() && step <= std::prev(after)->second) continue;
        steps_[reading.clock][step].Join(reading.first_ns, reading.last_ns);
      }
    }
    runs_ = std::vector<StepRun>();  // as large as the steps, and done with
  }

  // The first line of each host that states a cause. A line without a stamp stands behind the one before it.
  void CollectFaults() {
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role != Role::kInitiating || event.signature->severity < Severity::kError)
        continue;
      if (event.place.host.empty() || event.signature->row.accuses_peer() || IsEndReport(event.id()))
        continue;
      if (IsStopSignal(event.id()) || event.signature->fault_class == FaultClass::kScheduler ||
          WentOn(incident_, event))
        continue;
      fault_hosts_.insert(event.place.host);
      const std::optional<Stamp>& stamp =
          event.event->prefix.stamp ? event.event->prefix.stamp : event.event->stamp_before;
      const auto reading = Read(stamp, *event.source, event.place.host);
      if (!reading) continue;
      const auto [it, fresh] = faults_.try_emplace(reading->clock, *reading);
      if (!fresh && reading->first_ns < it->second.first_ns) it->second = *reading;
    }
  }

  void AddEdges(ClockFactKind kind, const std::string& cause_host, const Reading& effect) {
    for (const auto& [clock, fault] : faults_) {
      if (reader_.clocks()[clock].host == cause_host) edges_.push_back({kind, fault, effect});
    }
  }

  void CollectCausedEdges() {
    for (const PlacedEvent& event : incident_.events) {
      const auto reading = Read(event);
      if (!reading) continue;
      if (event.id() == "pg.dump_signal" && event.accused_ranks.size() == 1) {
        const auto time_out = time_outs_.find(event.accused_ranks[0]);
        if (time_out != time_outs_.end())
          edges_.push_back({ClockFactKind::kDumpSignal, time_out->second, *reading});
      }
      const bool closed = std::find(std::begin(kPeerClosedIds), std::end(kPeerClosedIds), event.id()) !=
                          std::end(kPeerClosedIds);
      if (closed && event.accused_hosts.size() == 1)
        AddEdges(ClockFactKind::kPeerClosed, event.accused_hosts[0], *reading);
      const bool stopped = event.signature->role == Role::kTeardown && !WentOn(incident_, event);
      if (stopped && fault_hosts_.size() == 1)
        AddEdges(ClockFactKind::kTeardown, *fault_hosts_.begin(), *reading);
    }
  }

  // --- from readings to facts
  ClockFacts Pair() {
    ClockFacts out;
    out.seen = seen_;
    out.backwards = backwards_;
    RankByShared();
    if (order_.empty()) return out;
    PairAll();
    out.reference = MiddleClock();
    if (out.reference != order_[0]) {
      // Told against the reference itself, facts bound more tightly than through another clock.
      std::erase(order_, out.reference);
      order_.insert(order_.begin(), out.reference);
      for (size_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
      facts_.clear();
      PairAll();
    }
    out.facts = std::move(facts_);
    return out;
  }

  // Clocks by how much they have in common with others, then by name. Causes and effects do not count: most
  // of them are about the host that failed, which should not be the measure of the others.
  void RankByShared() {
    shared_.assign(seen_.size(), 0);
    const auto count = [&](const auto& by_clock) {
      if (by_clock.size() < 2) return;
      for (const auto& [clock, value] : by_clock) ++shared_[clock];
    };
    for (const auto& [key, by_clock] : collectives_) count(by_clock);
    for (const auto& [key, by_clock] : inits_) count(by_clock);
    std::map<int64_t, size_t> printed;
    for (const auto& [clock, steps] : steps_) {
      for (const auto& [step, extent] : steps) ++printed[step];
    }
    for (const auto& [clock, steps] : steps_) {
      for (const auto& [step, extent] : steps) shared_[clock] += printed[step] > 1;
    }
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i]) order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return shared_[a] > shared_[b]; });
    place_.resize(seen_.size());
    for (size_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
  }

  // One clock that is off should be said to be off, not all others: the job's clock is in the middle of those
  // that have at least half as many facts as the one with most.
  size_t MiddleClock() const {
    const std::vector<std::optional<int64_t>> rough = RoughOffsets(shared_.size(), order_[0], facts_);
    std::vector<std::pair<int64_t, size_t>> known;
    for (size_t i = 0; i < rough.size(); ++i) {
      if (rough[i] && shared_[i] * 2 >= shared_[order_[0]]) known.emplace_back(*rough[i], i);
    }
    if (known.size() < 3) return order_[0];  // two do not tell which is right
    // Within a step's length of each other they are alike: the first by name.
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
    std::nth_element(known.begin(), middle, known.end());
    const int64_t offset = middle->first;
    size_t out = middle->second;
    for (const auto& [ns, clock] : known) {
      if (std::abs(ns - offset) <= kLockStepNs) out = std::min(out, clock);
    }
    return out;
  }

  // The clock against which the others are told.
  template <typename T>
  typename ByClock<T>::const_iterator HubOf(const ByClock<T>& by_clock) const {
    return std::min_element(by_clock.begin(), by_clock.end(),
                            [&](const auto& a, const auto& b) { return place_[a.first] < place_[b.first]; });
  }

  template <typename T, typename Tell>
  void PairWithHub(const ByClock<T>& by_clock, const Tell& tell) {
    if (by_clock.size() < 2) return;
    const auto hub = HubOf(by_clock);
    for (auto it = by_clock.begin(); it != by_clock.end(); ++it) {
      if (it != hub) tell(it->first, it->second, hub->first, hub->second);
    }
  }

  void PairAll() {
    for (const auto& [key, by_clock] : inits_) {
      PairWithHub(by_clock, [&](const auto&... of) { TellInit(of...); });
    }
    PairWithHub(steps_, [&](const auto&... of) { TellSteps(of...); });
    for (const auto& [key, by_clock] : collectives_) {
      int64_t spread = 0;
      for (const auto& [clock, extent] : by_clock)
        spread = std::max(spread, extent.last_early_ns - extent.first_late_ns);
      PairWithHub(by_clock, [&](const auto&... of) {
        TellTogether(ClockFactKind::kCollective, kLockStepNs + spread, of...);
      });
    }
    for (const Edge& edge : edges_) {
      if (edge.cause.clock == edge.effect.clock) continue;
      const ClockFactRow& row = RowOf(edge.kind);
      OffsetFact fact = Blank(edge.kind, edge.effect.clock, edge.cause.clock, edge.effect.first_ns);
      fact.at_most = edge.effect.last_ns - edge.cause.first_ns + row.slack_ns;
      if (row.at_most_ns) fact.at_least = edge.effect.first_ns - edge.cause.last_ns - *row.at_most_ns;
      facts_.push_back(fact);
    }
  }

  OffsetFact Blank(ClockFactKind kind, size_t clock, size_t peer, int64_t at_ns) const {
    return {clock, peer, static_cast<size_t>(kind), {}, {}, {}, at_ns};
  }

  // All ranks of both clocks did it within `slack` of each other.
  void TellTogether(ClockFactKind kind, int64_t slack, size_t clock, const Extent& here, size_t peer,
                    const Extent& there) {
    OffsetFact fact = Blank(kind, clock, peer, here.last_ns);
    fact.at_most = here.first_late_ns - there.last_early_ns + slack;
    fact.at_least = here.last_early_ns - there.first_late_ns - slack;
    fact.likely = here.Middle() - there.Middle();
    facts_.push_back(fact);
  }

  void TellInit(size_t clock, const Init& here, size_t peer, const Init& there) {
    const ClockFactKind kind = ClockFactKind::kCommunicatorInit;
    if (here.complete && there.complete)
      TellTogether(kind, kInitNs, clock, *here.complete, peer, *there.complete);
    OffsetFact fact = Blank(kind, clock, peer, 0);
    if (here.complete && there.start) {
      fact.at_ns = here.complete->last_ns;
      fact.at_most = here.complete->first_late_ns - there.start->last_early_ns + kPrintNs;
    }
    if (here.start && there.complete) {
      fact.at_ns = here.start->last_ns;
      fact.at_least = here.start->last_early_ns - there.complete->first_late_ns - kPrintNs;
    }
    if (fact.at_most || fact.at_least) facts_.push_back(fact);
  }

  // When `steps`' clock had surely ended the step before `step`: the earliest reading, and none where it
  // prints neither that step nor an earlier one.
  static std::optional<int64_t> StepBefore(const Steps& steps, int64_t step) {
    const auto at = steps.lower_bound(step);
    const bool same = at != steps.end() && at->first == step;
    if (at == steps.begin())
      return same ? std::optional(at->second.last_early_ns - kLoneStepNs) : std::nullopt;
    const auto& [earlier, extent] = *std::prev(at);
    if (!same) return extent.last_early_ns;
    const int64_t mean =
        std::min(kDayNs, (at->second.last_early_ns - extent.last_early_ns) / (step - earlier));
    return std::max(extent.last_early_ns,
                    at->second.last_early_ns - std::max(kLockStepNs, kStepsOfMean * mean));
  }

  void TellSteps(size_t clock, const Steps& here, size_t peer, const Steps& there) {
    // Both in the order of steps.
    for (auto mine = here.begin(), theirs = there.begin(); mine != here.end() || theirs != there.end();) {
      const bool at_mine = theirs == there.end() || (mine != here.end() && mine->first <= theirs->first);
      const bool at_theirs = mine == here.end() || (theirs != there.end() && theirs->first <= mine->first);
      OffsetFact fact = Blank(ClockFactKind::kStep, clock, peer, 0);
      if (at_theirs) {
        if (const auto before = StepBefore(here, theirs->first)) {
          fact.at_ns = *before;
          fact.at_least = *before - theirs->second.first_late_ns - kPrintNs;
        }
      }
      if (at_mine) {
        if (const auto before = StepBefore(there, mine->first)) {
          fact.at_ns = mine->second.first_ns;
          fact.at_most = mine->second.first_late_ns - *before + kPrintNs;
        }
      }
      if (at_mine && at_theirs) fact.likely = mine->second.Middle() - theirs->second.Middle();
      if (fact.at_least || fact.at_most) facts_.push_back(fact);
      if (at_mine) ++mine;
      if (at_theirs) ++theirs;
    }
  }

  const Incident& incident_;
  const StampReader& reader_;
  std::vector<bool> seen_, backwards_;
  std::map<const SourceDigest*, std::string> host_of_source_;
  std::map<int32_t, Reading> time_outs_;  // the first of each rank
  std::map<std::string, ByClock<Extent>> collectives_;
  std::map<std::string, ByClock<Init>> inits_;
  std::vector<StepRun> runs_;
  ByClock<Steps> steps_;
  std::set<std::string> fault_hosts_;
  ByClock<Reading> faults_;
  std::vector<Edge> edges_;
  std::vector<size_t> shared_, order_, place_;
  std::vector<OffsetFact> facts_;
};

}  // namespace

const ClockFactRow& RowOf(ClockFactKind kind) {
  const ClockFactRow& row = kRows[static_cast<size_t>(kind)];
  FF_CHECK(row.kind == kind);
  return row;
}

StampReader::StampReader(const Incident& incident) {
  for (const std::string& host : incident.hosts) {
    first_clock_.emplace(host, clocks_.size());
    for (const bool zoned : {false, true}) clocks_.push_back({host, zoned});
  }
  std::optional<int64_t> dated, undated;
  const auto see = [&](const std::optional<ClockReading>& stamp) {
    if (stamp && IsWall(*stamp)) {
      std::optional<int64_t>& seen = stamp->year_known ? dated : undated;
      if (stamp->ns <= kReadingMaxNs) seen = std::max(seen.value_or(0), stamp->ns);
    }
  };
  for (const SourceDigest* source : incident.sources) {
    for (const Event& event : source->events)
      see(event.prefix.stamp ? event.prefix.stamp : event.stamp_before);
    for (const Progress& progress : source->progress) see(progress.stamp);
  }
  year_known_ = dated.has_value();
  around_ns_ = dated ? *dated : undated.value_or(0);
}

std::optional<Reading> StampReader::Read(const ClockReading& stamp, const SourceInfo& source,
                                         std::string_view host) const {
  const auto known = first_clock_.find(host);
  if (!IsWall(stamp) || known == first_clock_.end() || stamp.ns > kReadingMaxNs || stamp.ns < 0)
    return std::nullopt;
  Reading out;
  out.clock = known->second + (stamp.clock == Stamp::Clock::kWallUtc || source.zone_minutes ? 1 : 0);
  out.first_ns = stamp.year_known ? stamp.ns : InYearNear(stamp.ns, around_ns_);
  if (stamp.clock == Stamp::Clock::kWallLocal && source.zone_minutes)
    out.first_ns -= int64_t{*source.zone_minutes} * 60 * kSecondNs;
  out.last_ns = out.first_ns + std::max<int64_t>(stamp.resolution_ns, 1) - 1;
  return out;
}

ClockFacts CollectClockFacts(const Incident& incident, const StampReader& reader) {
  return Collector(incident, reader).Collect();
}

}  // namespace firstfault
