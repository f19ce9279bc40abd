#include "correlate/first_warning.h"

#include <algorithm>
#include <optional>

#include "correlate/evidence.h"
#include "correlate/explain.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

using Finding = std::optional<WarningLine>;

Finding FromEvent(const PlacedEvent* event, std::string rule) {
  if (event == nullptr) return std::nullopt;
  return WarningLine{event, event->source, event->event->at, event->event->text, std::move(rule)};
}

// The same rank, or a line of the culprit's host that names no rank; where neither is known on both sides, a
// line of the same log that is not some host's of several.
bool OnPath(const Incident& incident, const Suspect& culprit, const PlacedEvent& event) {
  if (event.place.rank && culprit.place.rank) return event.place.rank == culprit.place.rank;
  if (!event.place.host.empty() && !culprit.place.host.empty()) return event.place.host == culprit.place.host;
  const bool elsewhere = !event.place.host.empty() && incident.hosts.size() > 1;
  return culprit.root != nullptr && event.source == culprit.root->source && !elsewhere;
}

// Of a process that is known to be another one: its death is not this fault's beginning.
bool OfAnotherProcess(const Suspect& culprit, const PlacedEvent& event) {
  if (!FromKernel(event) || !event.place.pid || !culprit.root->place.pid || *event.place.pid == *culprit.root->place.pid) return false;
  // Threads of one process have numbers of their own, but its name.
  return FamilyOf(event.id()) != "seg" || event.place.process != culprit.root->place.process;
}

// A warning that ranks off the fault's path print as well is how this job starts, not where it went wrong.
bool SharedWithOthers(const Incident& incident, const Suspect& culprit, const PlacedEvent& warning) {
  if (culprit.all_ranks || warning.signature->role != Role::kPrecursor) return false;
  return std::any_of(incident.events.begin(), incident.events.end(), [&](const PlacedEvent& event) {
    const bool placed = event.place.rank || !event.place.host.empty();
    return event.id() == warning.id() && placed && !OnPath(incident, culprit, event);
  });
}

// A warning whose own consequence stands between it and the fault belongs to that one: an older memory kill of
// somebody else on the same host.
bool SpentBefore(const Incident& incident, const Suspect& culprit, const PlacedEvent& warning) {
  return std::any_of(incident.events.begin(), incident.events.end(), [&](const PlacedEvent& event) {
    return event.source == warning.source && event.source == culprit.root->source && Precedes(*warning.signature, *event.signature) &&
           PrintedBefore(warning, event) && PrintedBefore(event, *culprit.root) && OfAnotherProcess(culprit, event);
  });
}

// Memory that climbs on the culprit's rank away from its own past: at least double its median. Steady
// programs stay within a few percent; a leak that kills a host multiplies.
constexpr double kClimb = 2.0;

Finding MemoryClimb(const Incident& incident, const Suspect& culprit) {
  if (!culprit.signature.starts_with("oom.") || !culprit.place.rank) return std::nullopt;
  for (const SourceDigest* source : incident.sources) {
    std::vector<double> values;
    for (const Sample& sample : source->memory) {
      if (!sample.device) values.push_back(sample.value);
    }
    if (values.size() < 3) continue;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    const double median = values[values.size() / 2];
    for (const Sample& sample : source->memory) {
      if (!sample.device && sample.rank == culprit.place.rank && sample.value >= kClimb * median) {
        return WarningLine{nullptr, source, sample.at, sample.text, "memory of this rank climbed away from its twins"};
      }
    }
  }
  return std::nullopt;
}

// Host memory that a line of the culprit's rank or host tells to be nearly full, before it ran out. Ray kills workers
// from this share on, which it takes for the last moment before the kernel does.
constexpr double kNearlyFull = 0.95;

Finding MemoryNearlyFull(const Incident& incident, const Suspect& culprit) {
  constexpr std::string_view kHostMemory[] = {"oom.kernel", "oom.systemd", "slurm.oom", "k8s.oomkilled", "ray.oom"};
  const bool ran_out = std::any_of(std::begin(kHostMemory), std::end(kHostMemory), [&](std::string_view id) { return culprit.signature.starts_with(id); });
  if (!ran_out || culprit.root == nullptr || culprit.place.host.empty()) return std::nullopt;
  for (const SourceDigest* source : incident.sources) {
    const bool here = source->info.host ? ShortHost(source->info.host->value) == culprit.place.host : incident.hosts.size() == 1;
    if (!here) continue;
    for (const Sample& sample : source->memory) {
      if (source == culprit.root->source && sample.at.byte_offset > culprit.root->event->at.byte_offset) break;
      if (!sample.share || *sample.share < kNearlyFull) continue;
      return WarningLine{nullptr, source, sample.at, sample.text, "host memory was nearly full"};
    }
  }
  return std::nullopt;
}

// A precursor that the catalogue ties to the fault, or a hardware warning in the same log before it.
Finding Precursor(const Incident& incident, const Suspect& culprit) {
  if (culprit.root == nullptr) return std::nullopt;
  for (const PlacedEvent& event : incident.events) {
    if (event.signature->role != Role::kPrecursor || !OnPath(incident, culprit, event)) continue;
    const bool same_log = event.source == culprit.root->source;
    if (same_log && event.event->at.byte_offset > culprit.root->event->at.byte_offset) continue;
    if (OfAnotherProcess(culprit, event) || SpentBefore(incident, culprit, event)) continue;
    const bool tied = Precedes(*event.signature, *culprit.root->signature);
    const bool hardware = same_log && event.signature->fault_class == FaultClass::kHardware &&
                          culprit.fault_class == FaultClass::kHardware;
    const bool accused = culprit.root->signature->row.accuses_peer() && event.place.rank == culprit.place.rank;
    if (tied || hardware || accused) return FromEvent(&event, "a warning that precedes this fault");
  }
  return std::nullopt;
}

// Operators' and schedulers' acts come in steps: the first of the same family is the warning.
Finding SameFamily(const Incident& incident, const Suspect& culprit) {
  if (culprit.root == nullptr) return std::nullopt;
  for (const PlacedEvent& event : incident.events) {
    if (event.source != culprit.root->source || !OnPath(incident, culprit, event)) continue;
    if (event.event->at.byte_offset >= culprit.root->event->at.byte_offset) break;
    if (OfAnotherProcess(culprit, event) || SpentBefore(incident, culprit, event)) continue;
    if (SharedWithOthers(incident, culprit, event)) continue;
    const bool related = event.id() == culprit.signature ||
                         (FamilyOf(event.id()) == FamilyOf(culprit.signature) && event.signature->fault_class == culprit.fault_class &&
                          event.signature->role >= Role::kPrecursor) ||
                         (Precedes(*event.signature, *culprit.root->signature) && event.signature->role != Role::kBenign &&
                          event.signature->role != Role::kTeardown);
    if (related) return FromEvent(&event, "the first line of the same fault");
  }
  return std::nullopt;
}

// What the culprit remarked and its peers did not: the first line of the kind that came last before the fault.
Finding OwnRemark(const Incident& incident, const Suspect& culprit) {
  const auto facts = incident.ranks.find(culprit.place.rank.value_or(-1));
  if (facts == incident.ranks.end()) return std::nullopt;
  std::vector<PlacedRemark> remarks = facts->second.remarks;
  std::erase_if(remarks, [&](const PlacedRemark& placed) {
    return culprit.root != nullptr && placed.source == culprit.root->source &&
           placed.remark->at.byte_offset > culprit.root->event->at.byte_offset;
  });
  if (remarks.empty()) return std::nullopt;
  const auto first = std::find_if(remarks.begin(), remarks.end(), [&](const PlacedRemark& placed) {
    return placed.remark->shape == remarks.back().remark->shape;
  });
  return WarningLine{nullptr, first->source, first->remark->at, first->remark->text, "a warning that only this rank gave"};
}

// What a silent rank was doing when the others began to wait.
Finding LastWords(const Incident&, const Suspect& culprit) {
  if (culprit.root != nullptr || culprit.words.empty()) return std::nullopt;
  return WarningLine{nullptr, culprit.words_source, culprit.words_at, culprit.words, "the last words of a silent rank"};
}

struct Rule {
  const char* name;
  Finding (*find)(const Incident&, const Suspect&);
};
constexpr Rule kRules[] = {
    {"memory climb", MemoryClimb},
    {"memory nearly full", MemoryNearlyFull},
    {"precursor", Precursor},
    {"same family", SameFamily},
    {"own remark", OwnRemark},
    {"last words", LastWords},
};

}  // namespace

WarningLine FindFirstWarning(const Incident& incident, const Suspect& culprit) {
  for (const Rule& rule : kRules) {
    if (Finding found = rule.find(incident, culprit)) return *std::move(found);
  }
  const PlacedEvent* first = culprit.own.empty() ? culprit.root : culprit.own.front();
  if (Finding found = FromEvent(first, "the fault's own first line")) return *std::move(found);
  return {};
}

}  // namespace firstfault
