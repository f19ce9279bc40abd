#include "correlate/evidence.h"

#include <algorithm>
#include <set>

#include "correlate/parse/prefix.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr std::string_view kWaiters[] = {
    "pg.watchdog_timeout", "pg.wait_timeout", "pg.progress",   "pg.heartbeat_lost", "pg.unique_id",
    "gloo.op_timeout",     "store.wait",      "store.barrier", "store.clients",     "pgw.barrier_timeout",
};

}  // namespace

bool IsWaiter(std::string_view id) {
  return std::find(std::begin(kWaiters), std::end(kWaiters), id) != std::end(kWaiters);
}

bool IsPointToPoint(std::string_view op) {
  // A batch of sends and receives is one "coalesced" work.
  constexpr std::string_view kOperations[] = {"SEND", "RECV", "RECVANYSOURCE", "COALESCED"};
  return std::find(std::begin(kOperations), std::end(kOperations), op) != std::end(kOperations);
}

bool IsStopSignal(std::string_view id) {
  return id == "elastic.death_signal" || id.ends_with(".sigterm") || id.starts_with("slurm.cancel.signal") ||
         id == "py.interrupt" || id == "nvrx.signal" || id == "derived.stopped";
}

bool IsSchedulerDecision(const Signature& signature) {
  // Families that speak of nodes and jobs under another class than "scheduler" (a lost node is hardware).
  constexpr std::string_view kFamilies[] = {"slurm.cancel.", "slurm.ctl.", "slurm.srun.node", "slurm.state.", "slurm.drain.", "k8s.node"};
  // A provider takes back one machine, and where that is one worker (a TPU host, a pod) it is that rank.
  if (signature.row.id().starts_with("cloud.")) return false;
  return signature.fault_class == FaultClass::kScheduler ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return std::string_view(signature.row.id()).starts_with(family); });
}

bool IsStorage(std::string_view id) {
  constexpr std::string_view kFamilies[] = {"nfs.", "lustre.", "ceph.", "cifs.", "gpfs."};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](std::string_view family) { return id.starts_with(family); });
}

std::vector<int32_t> WaitersOf(const Incident& incident) {
  std::set<int32_t> ranks;
  for (const PlacedEvent& event : incident.events) {
    if (IsWaiter(event.id()) && event.place.rank) ranks.insert(*event.place.rank);
  }
  return {ranks.begin(), ranks.end()};
}

std::vector<int32_t> SilentRanks(const Incident& incident, const std::string& host) {
  const std::vector<int32_t> waiters = WaitersOf(incident);
  if (waiters.empty()) return {};
  int32_t world = incident.world_size.value_or(0);
  if (!incident.ranks.empty()) world = std::max(world, incident.ranks.rbegin()->first + 1);
  // So many that nobody ever saw point at none of them, and one line may claim any world size.
  constexpr int kUnseenMax = 64;
  int unseen = 0;
  std::vector<int32_t> out;
  for (int32_t rank = 0; rank < world && unseen < kUnseenMax; ++rank) {
    if (std::binary_search(waiters.begin(), waiters.end(), rank)) continue;
    const auto facts = incident.ranks.find(rank);
    unseen += facts == incident.ranks.end();
    const std::string known = facts == incident.ranks.end() ? "" : facts->second.host;
    if (!host.empty() && !known.empty() && known != host) continue;
    out.push_back(rank);
  }
  return out;
}

std::optional<int32_t> OnlyRankWithRemarks(const Incident& incident) {
  const size_t world = static_cast<size_t>(std::max(incident.world_size.value_or(0), incident.ranks_expected));
  if (incident.ranks.size() < std::max<size_t>(world, 2)) return std::nullopt;
  std::optional<int32_t> found;
  for (const auto& [rank, facts] : incident.ranks) {
    if (!facts.steps) return std::nullopt;
    if (facts.remarks.empty()) continue;
    if (found) return std::nullopt;
    found = rank;
  }
  return found;
}

std::string KeyOf(const PlacedEvent& event) {
  if (event.place.rank) return Cat("rank ", *event.place.rank);
  if (!event.place.host.empty()) return Cat("host ", event.place.host);
  return Cat("file ", event.source->info.path);
}

bool PrintedBefore(const PlacedEvent& a, const PlacedEvent& b) {
  return a.source == b.source && a.event->at.byte_offset < b.event->at.byte_offset;
}

std::string Quote(std::string_view text) {
  constexpr size_t kQuoteBytes = 120;
  std::string_view trimmed = Trim(text);
  // Who and when stand beside the quotation; what is said goes first where there is no room for both.
  if (trimmed.size() > kQuoteBytes) trimmed = Trim(Peel(trimmed).message);
  if (trimmed.size() <= kQuoteBytes) return Cat("\"", trimmed, "\"");
  return Cat("\"", trimmed.substr(0, kQuoteBytes), "...\"");
}

}  // namespace firstfault
