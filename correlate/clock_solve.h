// clock_solve.h: offsets of clocks from difference constraints.
//
// Why:     no clock of a job is known to be right, but what happened bounds how far two of them can differ;
//          all such bounds together leave an interval for each clock, which is stated instead of a guess.
// Model:   offset = clock minus job time; the job's time is that of one clock, the reference. A fact bounds
// the
//          offset of one clock against another, on one side or on both. Facts of a kind between two clocks
//          are bundled; bundles enter the system by trust, and one that makes it infeasible is left out and
//          named. What remains is solved by shortest paths from the reference.
// Units:   nanoseconds. An interval holds at `end_ns`; away from it it widens by kDriftPerMillion.
// Errors:  a clock that the facts do not bound on both sides has a reason, never an invented interval.
// Order:   results do not depend on the order of facts.
// Threads: pure functions. Cost: facts and clocks, times a logarithm.
// Source:  difference constraints as shortest paths (CLRS, 24.4); the incremental check is that of Cotton and
//          Maler, "Fast and flexible difference constraint propagation for DPLL(T)" (2006).
// Example: clock 1 shows a collective at 95 s, clock 0 at 0 s, ranks enter within 2 s: fact {1, 0, [93, 97]}.
#ifndef FIRSTFAULT_CORRELATE_CLOCK_SOLVE_H_
#define FIRSTFAULT_CORRELATE_CLOCK_SOLVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace firstfault {

// Two clocks part by at most this. Crystals stay within 100; the kernel slews a clock by up to 500
// (adjtimex).
inline constexpr int64_t kDriftPerMillion = 500;

// offset(clock) - offset(peer) lies in [at_least, at_most]; an absent end is no bound.
struct OffsetFact {
  size_t clock = 0, peer = 0;
  size_t kind = 0;  // smaller is more trustworthy
  std::optional<int64_t> at_least, at_most;
  std::optional<int64_t> likely;  // the best guess, where the kind of fact gives one
  int64_t at_ns = 0;              // when, by `clock`
};

enum class ClockGap : uint8_t {
  kNone,           // bounded on both sides
  kNoFacts,        // nothing ties it to the reference
  kOneSided,       // facts bound it on one side only
  kContradiction,  // what would tie it contradicts itself or better facts
};

// A bundle that was left out.
struct DroppedFacts {
  size_t kind = 0;
  std::optional<size_t> against;  // the kind that it contradicts; absent: it contradicts itself
};

struct SolvedClock {
  ClockGap gap = ClockGap::kNoFacts;
  std::optional<int64_t> low, high;  // the feasible offsets, ends included
  int64_t likely = 0;                // inside them; meaningful where gap is kNone
  std::vector<size_t> kinds;         // of facts that tie this clock to another, sorted
  std::vector<DroppedFacts> dropped;
};

struct ClockSolution {
  std::vector<SolvedClock> clocks;
  int64_t end_ns = 0;  // job time of the latest fact
};

// Facts about clocks >= `clocks` or of a clock with itself are programmer errors; bounds beyond kOffsetMaxNs
// are another run's or a misread date, and ignored.
inline constexpr int64_t kOffsetMaxNs = 400LL * 86400 * 1'000'000'000;
ClockSolution SolveClocks(size_t clocks, size_t reference, const std::vector<OffsetFact>& facts);

// Rough offsets against `reference` from the likely values alone; nullopt for clocks that nothing ties to it.
std::vector<std::optional<int64_t>> RoughOffsets(size_t clocks, size_t reference,
                                                 const std::vector<OffsetFact>& facts);

// How much an interval widens over this time.
int64_t DriftOver(int64_t ns);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CLOCK_SOLVE_H_
