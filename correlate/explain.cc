#include "correlate/explain.h"

#include <algorithm>

namespace firstfault {
namespace {

enum class Over : uint8_t {
  kSameHost,  // known, and the same
  kHost,      // the same host, or the cause's host runs no known rank (a container's node)
  kAnywhere,  // the whole job
};

struct Edge {
  std::string_view cause;   // id prefix
  std::string_view effect;  // id prefix
  Over over;
};
// The first part of an id names its family; prefixes keep the table short.
constexpr Edge kEdges[] = {
    // a fabric or device fault, and what the processes on that host see of it
    {"sxid.", "xid.", Over::kHost},
    {"sxid.", "fm.", Over::kAnywhere},
    {"fm.", "xid.", Over::kHost},
    {"sxid.", "cuda.", Over::kHost},
    {"sxid.", "nccl.", Over::kHost},
    {"xid.", "cuda.", Over::kHost},
    {"xid.", "nvrm.", Over::kHost},
    {"xid.", "nccl.", Over::kHost},
    {"xid.", "nvml.", Over::kHost},
    {"xid.", "xid.", Over::kHost},
    {"xid.", "torch.", Over::kHost},
    {"nvrm.lost", "cuda.", Over::kHost},
    {"amdgpu.", "amd.", Over::kHost},
    {"aer.", "xid.", Over::kHost},
    {"dpc.", "xid.", Over::kHost},
    {"mem.", "panic.", Over::kHost},
    // memory kills, and who notices
    {"oom.kernel", "dl.", Over::kHost},
    {"oom.kernel", "k8s.oomkilled", Over::kAnywhere},
    {"oom.kernel", "slurm.", Over::kAnywhere},
    {"oom.kernel", "derived.killed", Over::kHost},
    {"oom.kernel", "ray.", Over::kAnywhere},
    {"oom.kernel", "ds.", Over::kHost},
    {"oom.kernel", "vllm.", Over::kHost},
    {"ray.oom", "ray.", Over::kAnywhere},
    {"ray.oom", "nccl.", Over::kAnywhere},
    {"ray.oom", "pg.", Over::kAnywhere},
    {"slurm.oom", "derived.killed", Over::kAnywhere},
    {"slurm.oom", "slurm.srun.task_oom", Over::kAnywhere},
    {"k8s.oomkilled", "derived.killed", Over::kAnywhere},
    {"k8s.oomkilled", "nccl.", Over::kAnywhere},
    // native crashes
    {"seg.", "torch.fatal", Over::kHost},
    {"seg.", "derived.crashed", Over::kHost},
    {"mem.", "derived.crashed", Over::kHost},
    {"xid.", "derived.crashed", Over::kHost},
    {"seg.", "dl.", Over::kHost},
    // a process that is gone, and the calls of its peers that fail with it
    {"seg.", "mpi.", Over::kAnywhere},
    {"mpi.sig_handler", "mpi.fatal", Over::kAnywhere},
    {"derived.crashed", "mpi.fatal", Over::kAnywhere},
    {"derived.killed", "mpi.fatal", Over::kAnywhere},
    {"derived.exited", "store.", Over::kAnywhere},
    // storage, and who waits for it
    {"nfs.", "hung.", Over::kHost},
    {"nfs.", "derived.", Over::kHost},
    {"nfs.", "dl.", Over::kHost},
    {"nfs.", "os.", Over::kHost},
    {"nfs.", "hvd.", Over::kAnywhere},
    {"lustre.", "hvd.", Over::kAnywhere},
    {"hung.", "hvd.", Over::kHost},
    {"lustre.", "hung.", Over::kHost},
    {"lustre.", "derived.", Over::kHost},
    {"lustre.", "os.", Over::kHost},
    {"nvme.", "os.", Over::kHost},
    {"blk.", "os.", Over::kHost},
    {"fs.", "os.", Over::kHost},
    {"hung.", "derived.", Over::kHost},
    // network devices, and the transport above them
    {"mlx5.", "nccl.", Over::kHost},
    {"net.", "nccl.", Over::kHost},
    {"nccl.ib.port", "nccl.", Over::kHost},
    {"mlx5.", "nccl.ib.port", Over::kHost},
    // a node that is gone, and who says so
    {"panic.", "jax.coord", Over::kHost},
    {"panic.", "slurm.", Over::kHost},
    {"mem.", "slurm.", Over::kHost},
    {"bmc.", "slurm.", Over::kHost},
    {"slurm.srun.node", "slurm.", Over::kAnywhere},
    {"slurm.srun.node", "nccl.", Over::kHost},
    {"slurm.ctl.down", "slurm.", Over::kAnywhere},
    {"slurm.ctl.down", "nccl.", Over::kHost},
    {"bmc.", "nccl.", Over::kHost},
    // a rank that fell silent, or is gone, with its node; not what it did on its own
    {"k8s.node", "derived.silent", Over::kSameHost},
    {"k8s.node", "derived.killed", Over::kSameHost},
    // decisions of the scheduler end everything
    {"cloud.", "jax.coord", Over::kAnywhere},
    {"cloud.", "k8s.", Over::kAnywhere},
    {"k8s.node_shutdown", "jax.coord", Over::kAnywhere},
    {"k8s.evicted", "elastic.", Over::kAnywhere},
    {"k8s.", "elastic.death_signal", Over::kAnywhere},
    {"slurm.cancel.", "slurm.", Over::kAnywhere},
    {"slurm.cancel.", "elastic.", Over::kAnywhere},
    {"slurm.cancel.", "jax.coord", Over::kAnywhere},
    {"slurm.state.", "slurm.state", Over::kAnywhere},
};

bool Lists(const google::protobuf::RepeatedPtrField<std::string>& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool HostsAgree(const Suspect& cause, const Suspect& effect, const std::set<std::string>& hosts_with_ranks) {
  const std::string& a = cause.place.host;
  const std::string& b = effect.place.host;
  if (a.empty() || b.empty()) return true;
  return a == b || !hosts_with_ranks.contains(a);
}

}  // namespace

std::set<std::string> HostsWithRanks(const Incident& incident) {
  std::set<std::string> out;
  for (const auto& [rank, facts] : incident.ranks) {
    if (!facts.host.empty()) out.insert(facts.host);
  }
  return out;
}

std::string_view FamilyOf(std::string_view id) { return id.substr(0, id.find('.')); }

bool FromKernel(const PlacedEvent& event) {
  return event.event->prefix.kernel || event.source->info.kind == SourceInfo::Kind::kKernelLog;
}

// A row that refines another one is that row, of which more is known: what it follows, so does this.
bool Precedes(const Signature& a, const Signature& b) {
  const std::string& of = b.row.refines().of();
  return Lists(a.row.precedes(), b.row.id()) || Lists(b.row.follows(), a.row.id()) || (!of.empty() && Lists(a.row.precedes(), of));
}

bool Explains(const Suspect& cause, const Suspect& effect, const std::set<std::string>& hosts_with_ranks) {
  if (cause.root == nullptr || cause.signature == effect.signature) return false;
  // Same rank known on both sides: another rank's process fault is not explained by this rank's.
  const bool ranks_differ = cause.place.rank && effect.place.rank && cause.place.rank != effect.place.rank;
  for (const Edge& edge : kEdges) {
    if (!std::string_view(cause.signature).starts_with(edge.cause) ||
        !std::string_view(effect.signature).starts_with(edge.effect)) {
      continue;
    }
    if (edge.over == Over::kAnywhere) return true;
    if (edge.over == Over::kSameHost && (cause.place.host.empty() || cause.place.host != effect.place.host)) continue;
    if (HostsAgree(cause, effect, hosts_with_ranks) && (!ranks_differ || FromKernel(*cause.root))) return true;
  }
  if (effect.root == nullptr || ranks_differ) return false;
  const bool known = Precedes(*cause.root->signature, *effect.root->signature) &&
                     !Precedes(*effect.root->signature, *cause.root->signature);
  return known && cause.root->signature->role >= effect.root->signature->role &&
         HostsAgree(cause, effect, hosts_with_ranks) && (!cause.place.host.empty() || !effect.place.host.empty());
}

}  // namespace firstfault
