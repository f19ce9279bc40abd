#include "correlate/clock_solve.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "correlate/check.h"

namespace firstfault {
namespace {

// Of the facts of one kind between two clocks, so many may be misread (a step of an old log quoted, a stamp
// of a collector that lagged) without a trace: one in four, and none of fewer than four.
constexpr size_t kMisreadOneIn = 4;
// How far a guess from facts that bound one side only may be off: the time-outs after which effects are seen.
constexpr int64_t kOneSidedErrorNs = 600LL * 1'000'000'000;
// No sum of offsets goes beyond this; 64 bits hold nine times as much.
constexpr int64_t kFar = 1'000'000'000'000'000'000;

// All facts of one kind between two clocks, clock < peer.
struct Bundle {
  size_t clock = 0, peer = 0, kind = 0;
  std::vector<OffsetFact> facts;
  int64_t likely = 0, error = 0;  // the guess, and how far it may be off
  std::optional<int64_t> at_least, at_most;
  bool active = false;
};

// An offset found by walking along bundles.
struct Guess {
  int64_t offset = 0, error = 0;
};

bool Sane(const OffsetFact& fact) {
  // Room for an offset on either side.
  if (fact.at_ns > INT64_MAX - 2 * kOffsetMaxNs || fact.at_ns < INT64_MIN + 2 * kOffsetMaxNs) return false;
  for (const std::optional<int64_t>& ns : {fact.at_least, fact.at_most, fact.likely}) {
    if (ns && (*ns > kOffsetMaxNs || *ns < -kOffsetMaxNs)) return false;
  }
  return true;
}

int64_t Middle(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The best guess of one fact alone: the guess that it carries, else the middle of its ends, else its one end.
std::optional<int64_t> GuessOf(const OffsetFact& fact) {
  if (fact.likely) return fact.likely;
  if (fact.at_least && fact.at_most) return *fact.at_least + (*fact.at_most - *fact.at_least) / 2;
  return fact.at_least ? fact.at_least : fact.at_most;
}

// The same fact, told of the other clock.
OffsetFact Turned(const OffsetFact& fact) {
  const auto minus = [](std::optional<int64_t> ns) { return ns ? std::optional(-*ns) : std::nullopt; };
  return {fact.peer,
          fact.clock,
          fact.kind,
          minus(fact.at_most),
          minus(fact.at_least),
          minus(fact.likely),
          fact.at_ns - GuessOf(fact).value_or(0)};
}

// By trust, then clocks.
std::vector<Bundle> BundlesOf(size_t clocks, const std::vector<OffsetFact>& facts) {
  std::map<std::tuple<size_t, size_t, size_t>, std::vector<OffsetFact>> grouped;
  for (const OffsetFact& fact : facts) {
    FF_CHECK(fact.clock < clocks && fact.peer < clocks && fact.clock != fact.peer);
    if (!Sane(fact)) continue;
    const OffsetFact ordered = fact.clock < fact.peer ? fact : Turned(fact);
    grouped[{fact.kind, ordered.clock, ordered.peer}].push_back(ordered);
  }
  std::vector<Bundle> out;
  for (auto& [key, members] : grouped) {
    Bundle bundle;
    std::tie(bundle.kind, bundle.clock, bundle.peer) = key;
    std::vector<int64_t> guesses;
    for (const OffsetFact& fact : members) {
      if (const auto guess = GuessOf(fact)) guesses.push_back(*guess);
      if (fact.at_least && fact.at_most)
        bundle.error = std::max(bundle.error, *fact.at_most - *fact.at_least);
    }
    if (guesses.empty()) continue;
    bundle.likely = Middle(std::move(guesses));
    if (bundle.error == 0) bundle.error = kOneSidedErrorNs;
    bundle.facts = std::move(members);
    out.push_back(std::move(bundle));
  }
  return out;
}

// The (n+1)-th of the ends, from the tightest: right even if n of them are wrong.
std::optional<int64_t> Trimmed(std::vector<int64_t> ends) {
  if (ends.empty()) return std::nullopt;
  const auto kept = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / kMisreadOneIn);
  std::nth_element(ends.begin(), kept, ends.end());
  return *kept;
}

// Offsets by walking from the reference along `bundles`; of several between two clocks the first decides.
std::vector<std::optional<Guess>> Walk(size_t clocks, size_t reference,
                                       const std::vector<const Bundle*>& bundles) {
  std::vector<std::vector<const Bundle*>> at(clocks);
  for (const Bundle* bundle : bundles) {
    at[bundle->clock].push_back(bundle);
    at[bundle->peer].push_back(bundle);
  }
  std::vector<std::optional<Guess>> out(clocks);
  out[reference] = Guess{};
  std::queue<size_t> queue;
  queue.push(reference);
  while (!queue.empty()) {
    const size_t from = queue.front();
    queue.pop();
    for (const Bundle* bundle : at[from]) {
      const bool forward = bundle->peer == from;
      const size_t to = forward ? bundle->clock : bundle->peer;
      const Guess guess{out[from]->offset + (forward ? bundle->likely : -bundle->likely),
                        out[from]->error + bundle->error};
      if (out[to] || std::abs(guess.offset) > kOffsetMaxNs || guess.error > kFar) continue;
      out[to] = guess;
      queue.push(to);
    }
  }
  return out;
}

// Before it is known which bundles hold: the most trusted first.
std::vector<std::optional<Guess>> RoughWalk(size_t clocks, size_t reference,
                                            const std::vector<Bundle>& bundles) {
  std::vector<const Bundle*> all;
  for (const Bundle& bundle : bundles) all.push_back(&bundle);
  return Walk(clocks, reference, all);
}

// Among those that hold: the most precise first.
std::vector<std::optional<Guess>> PreciseWalk(size_t clocks, size_t reference,
                                              const std::vector<Bundle>& bundles) {
  std::vector<const Bundle*> active;
  for (const Bundle& bundle : bundles) {
    if (bundle.active) active.push_back(&bundle);
  }
  std::stable_sort(active.begin(), active.end(),
                   [](const Bundle* a, const Bundle* b) { return a->error < b->error; });
  return Walk(clocks, reference, active);
}

// offset[to] - offset[from] <= weight.
struct Edge {
  size_t from = 0, to = 0;
  int64_t weight = 0;
  size_t bundle = 0;
};

// A feasible system of difference constraints; an edge that would make it infeasible is refused.
class Constraints {
 public:
  Constraints(size_t clocks, std::vector<int64_t> start)
      : out_(clocks), in_(clocks), potential_(std::move(start)) {}

  // False: refused, nothing changed, and `cycle` holds the bundles that it contradicts.
  bool Add(const Edge& edge, std::vector<size_t>* cycle) {
    if (!Repair(edge, cycle)) return false;
    out_[edge.from].push_back(edges_.size());
    in_[edge.to].push_back(edges_.size());
    edges_.push_back(edge);
    return true;
  }

  void Remove(const Bundle& bundle, size_t index) {
    for (const size_t clock : {bundle.clock, bundle.peer}) {
      for (auto* lists : {&out_, &in_}) {
        std::erase_if((*lists)[clock], [&](size_t edge) { return edges_[edge].bundle == index; });
      }
    }
  }

  // Shortest distances from a clock; nullopt where no path leads. Backward: to it.
  std::vector<std::optional<int64_t>> Distances(size_t from, bool backward) const {
    std::vector<std::optional<int64_t>> reduced(potential_.size());
    using Item = std::pair<int64_t, size_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
    std::vector<bool> done(potential_.size());
    reduced[from] = 0;
    queue.emplace(0, from);
    while (!queue.empty()) {
      const auto [distance, at] = queue.top();
      queue.pop();
      if (done[at]) continue;
      done[at] = true;
      for (size_t index : backward ? in_[at] : out_[at]) {
        const Edge& edge = edges_[index];
        const size_t to = backward ? edge.from : edge.to;
        // Never negative: the potentials satisfy every edge.
        const int64_t next = distance + edge.weight + potential_[edge.from] - potential_[edge.to];
        if (next > kFar || (reduced[to] && *reduced[to] <= next)) continue;
        reduced[to] = next;
        queue.emplace(next, to);
      }
    }
    for (size_t i = 0; i < reduced.size(); ++i) {
      if (reduced[i]) *reduced[i] += (potential_[i] - potential_[from]) * (backward ? -1 : 1);
    }
    return reduced;
  }

 private:
  // Lowers potentials until the new edge holds too. Each clock is settled at most once.
  bool Repair(const Edge& edge, std::vector<size_t>* cycle) {
    const int64_t excess = potential_[edge.from] + edge.weight - potential_[edge.to];
    if (excess >= 0) return true;
    using Item = std::pair<int64_t, size_t>;  // by how much it must fall, clock
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
    std::map<size_t, int64_t> fall;       // reached
    std::map<size_t, const Edge*> cause;  // through which edge
    std::map<size_t, int64_t> settled;    // potentials as they will be
    fall[edge.to] = excess;
    cause[edge.to] = &edge;
    queue.emplace(excess, edge.to);
    while (!queue.empty()) {
      const auto [by, at] = queue.top();
      queue.pop();
      if (settled.contains(at)) continue;
      if (at == edge.from || potential_[at] + by < -kFar) {
        for (size_t step = at; cause.contains(step) && cause[step] != &edge; step = cause[step]->from) {
          cycle->push_back(cause[step]->bundle);
        }
        return false;
      }
      const int64_t value = settled[at] = potential_[at] + by;
      for (size_t index : out_[at]) {
        const Edge& next = edges_[index];
        const int64_t needed = value + next.weight - potential_[next.to];
        if (needed >= 0 || settled.contains(next.to)) continue;
        const auto [it, fresh] = fall.try_emplace(next.to, needed);
        if (!fresh && it->second <= needed) continue;
        it->second = needed;
        cause[next.to] = &next;
        queue.emplace(needed, next.to);
      }
    }
    for (const auto& [clock, value] : settled) potential_[clock] = value;
    return true;
  }

  std::vector<Edge> edges_;
  std::vector<std::vector<size_t>> out_, in_;  // indices of edges by their ends
  std::vector<int64_t> potential_;             // a solution of all edges
};

class Solver {
 public:
  Solver(size_t clocks, size_t reference, const std::vector<OffsetFact>& facts)
      : clocks_(clocks), reference_(reference), bundles_(BundlesOf(clocks, facts)) {
    FF_CHECK(reference < clocks);
    solution_.clocks.resize(clocks);
  }

  ClockSolution Solve() {
    const std::vector<std::optional<Guess>> rough = RoughWalk(clocks_, reference_, bundles_);
    std::erase_if(bundles_,
                  [&](const Bundle& bundle) { return !rough[bundle.clock] || !rough[bundle.peer]; });
    Widen(rough);
    std::vector<int64_t> start;
    for (const std::optional<Guess>& guess : rough) start.push_back(guess.value_or(Guess{}).offset);
    Constraints constraints(clocks_, std::move(start));
    for (size_t i = 0; i < bundles_.size(); ++i) Enter(i, &constraints);
    State(constraints);
    return std::move(solution_);
  }

 private:
  // A fact of long ago says less about the end of the job. Then the ends of each bundle.
  void Widen(const std::vector<std::optional<Guess>>& rough) {
    const auto when = [&](const Bundle& bundle, const OffsetFact& fact) {
      return fact.at_ns - rough[bundle.clock]->offset;
    };
    std::optional<int64_t> end;
    for (const Bundle& bundle : bundles_) {
      for (const OffsetFact& fact : bundle.facts) end = std::max(end.value_or(INT64_MIN), when(bundle, fact));
    }
    solution_.end_ns = end.value_or(0);
    for (Bundle& bundle : bundles_) {
      std::vector<int64_t> least, most;
      for (const OffsetFact& fact : bundle.facts) {
        const int64_t drift =
            DriftOver(solution_.end_ns - when(bundle, fact)) + DriftOver(rough[bundle.clock]->error);
        if (fact.at_least) least.push_back(-(*fact.at_least - drift));
        if (fact.at_most) most.push_back(*fact.at_most + drift);
      }
      bundle.at_most = Trimmed(std::move(most));
      bundle.at_least = Trimmed(std::move(least));
      if (bundle.at_least) bundle.at_least = -*bundle.at_least;
    }
  }

  void Drop(const Bundle& bundle, std::optional<size_t> against) {
    for (size_t clock : {bundle.clock, bundle.peer}) {
      if (clock != reference_) solution_.clocks[clock].dropped.push_back({bundle.kind, against});
    }
  }

  void Enter(size_t index, Constraints* constraints) {
    Bundle& bundle = bundles_[index];
    if (bundle.at_least && bundle.at_most && *bundle.at_least > *bundle.at_most)
      return Drop(bundle, std::nullopt);
    std::vector<size_t> cycle;
    bool fits = true;
    if (bundle.at_most) fits = constraints->Add({bundle.peer, bundle.clock, *bundle.at_most, index}, &cycle);
    if (fits && bundle.at_least)
      fits = constraints->Add({bundle.clock, bundle.peer, -*bundle.at_least, index}, &cycle);
    if (fits) {
      bundle.active = true;
      return;
    }
    constraints->Remove(bundle, index);
    size_t against = bundle.kind;
    for (size_t other : cycle) against = std::min(against, bundles_[other].kind);
    // Equals that contradict each other: none of them is believed.
    for (size_t other : cycle) {
      if (bundles_[other].kind != bundle.kind || !bundles_[other].active) continue;
      bundles_[other].active = false;
      constraints->Remove(bundles_[other], other);
      Drop(bundles_[other], against);
    }
    Drop(bundle, against);
  }

  void State(const Constraints& constraints) {
    const auto above = constraints.Distances(reference_, false),
               below = constraints.Distances(reference_, true);
    const auto likely = PreciseWalk(clocks_, reference_, bundles_);
    for (const Bundle& bundle : bundles_) {
      if (!bundle.active) continue;
      for (size_t clock : {bundle.clock, bundle.peer}) {
        std::vector<size_t>& kinds = solution_.clocks[clock].kinds;
        if (kinds.empty() || kinds.back() != bundle.kind) kinds.push_back(bundle.kind);
      }
    }
    for (size_t i = 0; i < clocks_; ++i) {
      SolvedClock& clock = solution_.clocks[i];
      clock.high = above[i];
      if (below[i]) clock.low = -*below[i];
      if (clock.low && clock.high) {
        clock.gap = i == reference_ && clock.kinds.empty() ? ClockGap::kNoFacts : ClockGap::kNone;
        const bool fits = likely[i] && likely[i]->offset >= *clock.low && likely[i]->offset <= *clock.high;
        clock.likely = fits ? likely[i]->offset : *clock.low + (*clock.high - *clock.low) / 2;
      } else if (!clock.dropped.empty()) {
        clock.gap = ClockGap::kContradiction;
      } else if (clock.low || clock.high) {
        clock.gap = ClockGap::kOneSided;
      }
    }
  }

  const size_t clocks_, reference_;
  std::vector<Bundle> bundles_;
  ClockSolution solution_;
};

}  // namespace

ClockSolution SolveClocks(size_t clocks, size_t reference, const std::vector<OffsetFact>& facts) {
  return Solver(clocks, reference, facts).Solve();
}

std::vector<std::optional<int64_t>> RoughOffsets(size_t clocks, size_t reference,
                                                 const std::vector<OffsetFact>& facts) {
  std::vector<std::optional<int64_t>> out;
  for (const std::optional<Guess>& guess : RoughWalk(clocks, reference, BundlesOf(clocks, facts))) {
    out.push_back(guess ? std::optional(guess->offset) : std::nullopt);
  }
  return out;
}

int64_t DriftOver(int64_t ns) { return std::abs(ns) / 1'000'000 * kDriftPerMillion; }

}  // namespace firstfault
