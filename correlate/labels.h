// labels.h: a role and a reason for every rank of the job.
//
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_LABELS_H_
#define FIRSTFAULT_CORRELATE_LABELS_H_

#include <optional>
#include <string>
#include <vector>

#include "correlate/incident.h"
#include "correlate/suspects.h"

namespace firstfault {

struct Label {
  std::optional<int32_t> rank;
  std::string host;
  std::string role;     // root, collateral, teardown, unrelated, no_evidence
  std::string because;
  const PlacedEvent* event = nullptr;
};

// `culprit` is null where the verdict names nobody. One label a rank, in rank order; hosts without known
// ranks follow.
std::vector<Label> LabelRanks(const Incident& incident, const Suspect* culprit);

// How many expected ranks without a line LabelRanks() leaves out, so that a claimed world size costs nothing.
int32_t ExpectedRanksBeyondList(const Incident& incident);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_LABELS_H_
