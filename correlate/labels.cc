#include "correlate/labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "correlate/text.h"

namespace firstfault {
namespace {

// Ranks that no log shows are listed up to this many: one line may claim any world size.
constexpr int32_t kUnseenRanksListed = 16'384;

}  // namespace

int32_t ExpectedRanksBeyondList(const Incident& incident) {
  const int32_t expected = std::max(incident.world_size.value_or(0), incident.ranks_expected);
  const int32_t unseen = expected - static_cast<int32_t>(std::distance(incident.ranks.begin(), incident.ranks.lower_bound(expected)));
  return std::max(0, unseen - kUnseenRanksListed);
}

std::vector<Label> LabelRanks(const Incident& incident, const Suspect* culprit) {
  std::map<int32_t, const PlacedEvent*> strongest;
  std::map<std::string, const PlacedEvent*> host_events;  // of events without a rank
  for (const PlacedEvent& event : incident.events) {
    if (event.signature->role <= Role::kPrecursor) continue;
    const PlacedEvent*& slot = event.place.rank ? strongest[*event.place.rank] : host_events[event.place.host];
    if (slot == nullptr || event.signature->role > slot->signature->role) slot = &event;
  }
  std::set<int32_t> ranks;
  for (const auto& [rank, facts] : incident.ranks) ranks.insert(rank);
  const int32_t expected = std::max(incident.world_size.value_or(0), incident.ranks_expected);
  int32_t unseen = 0;
  for (int32_t rank = 0; rank < expected && unseen < kUnseenRanksListed; ++rank) unseen += ranks.insert(rank).second;
  const std::set<int32_t> struck = culprit == nullptr ? std::set<int32_t>() : std::set<int32_t>(culprit->ranks.begin(), culprit->ranks.end());

  // A fault of a host is that of its rank where no other rank can be there. What the scheduler ends has no fault.
  std::set<int32_t> on_host;
  bool all_placed = true;
  const bool host_only = culprit != nullptr && !culprit->all_ranks && !culprit->place.rank && !culprit->place.host.empty() && struck.empty() &&
                         culprit->fault_class != FaultClass::kScheduler;
  for (int32_t rank : ranks) {
    const auto facts = incident.ranks.find(rank);
    const bool placed = facts != incident.ranks.end() && !facts->second.host.empty();
    all_placed &= placed;
    if (host_only && placed && facts->second.host == culprit->place.host) on_host.insert(rank);
  }
  const bool only_rank = on_host.size() == 1 && all_placed;

  std::set<std::string> hosts_with_ranks;
  std::vector<Label> out;
  for (int32_t rank : ranks) {
    Label label;
    label.rank = rank;
    const auto facts = incident.ranks.find(rank);
    if (facts != incident.ranks.end()) label.host = facts->second.host;
    hosts_with_ranks.insert(label.host);
    const auto found = strongest.find(rank);
    if (found != strongest.end()) label.event = found->second;
    const bool is_root = culprit != nullptr && !culprit->all_ranks && culprit->place.rank == rank;
    // Alike means most: a rank that was stopped before it could fail has no part in it.
    const bool same_fault = struck.contains(rank);
    const bool alike = same_fault && culprit->all_ranks;
    if (only_rank && on_host.contains(rank)) {
      label.role = "root";
      label.because = "the only rank on the host of the first fault";
      if (culprit->root != nullptr) label.event = culprit->root;
    } else if (is_root || alike || (same_fault && !culprit->all_ranks && culprit->place.host == label.host)) {
      label.role = "root";
      label.because = alike ? "the ranks show the same fault alike" : is_root ? "the first fault is here" : "shows the same fault on the same host";
      if (culprit->root != nullptr && is_root) label.event = culprit->root;
    } else if (label.event == nullptr) {
      label.role = "no_evidence";
      label.because = facts != incident.ranks.end() && facts->second.last_words != nullptr
                          ? "wrote no failure line; its log just ends"
                          : "no log line of this rank was seen";
    } else {
      const bool teardown = label.event->signature->role == Role::kTeardown;
      label.role = teardown ? "teardown" : "collateral";
      label.because = Cat(label.event->signature->row.title(),
                          culprit != nullptr ? ": an effect of the first fault" : ": an effect or a wait; no cause of its own is proven");
    }
    if (on_host.contains(rank) && !only_rank) label.because += "; its host failed first, and no line tells which of its ranks";
    out.push_back(std::move(label));
  }
  for (const auto& [host, event] : host_events) {
    if (host.empty() || hosts_with_ranks.contains(host)) continue;
    Label label;
    label.host = host;
    const bool is_root = culprit != nullptr && !culprit->place.rank && culprit->place.host == host;
    label.event = event;
    label.role = is_root ? "root" : event->signature->role == Role::kTeardown ? "teardown" : "collateral";
    label.because = is_root ? "the first fault is on this host" : event->signature->row.title();
    out.push_back(std::move(label));
  }
  return out;
}

}  // namespace firstfault
