// baselines.h: what simpler tools would say of the same files.
//
// Why:     a score means little without the score of what people do today.
// Model:   each names one place or none. They are given every benefit of the reader: files, hosts and ranks
//          as the engine finds them.
// Threads: pure functions.
#ifndef FIRSTFAULT_TESTS_GOLDEN_BASELINES_H_
#define FIRSTFAULT_TESTS_GOLDEN_BASELINES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "correlate/incident.h"
#include "tests/golden/read_folder.h"

namespace firstfault::golden {

struct Blame {
  std::optional<int32_t> rank;
  std::string host;
  std::string text;  // the line or the rule
};

// The earliest line that looks bad: by printed time where there is one (a line without takes that of the
// stamped line before it), else the first in order of files and lines.
std::optional<Blame> EarliestBadLine(const std::vector<SourceText>& sources, const Incident& incident);

// The first "Root Cause (first observed failure)" that a torchrun printed, in order of files.
std::optional<Blame> TorchrunRoot(const Incident& incident);

// The one rank that reports no watchdog time-out while all others do.
std::optional<Blame> MissingRank(const Incident& incident);

}  // namespace firstfault::golden

#endif  // FIRSTFAULT_TESTS_GOLDEN_BASELINES_H_
