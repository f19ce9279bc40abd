#include "correlate/rivals.h"

#include <algorithm>
#include <array>
#include <set>

#include "correlate/evidence.h"
#include "correlate/explain.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Where the lines that speak for a rival would stand.
enum class Needs : uint8_t { kAnyLog, kKernelLog, kScheduler };

struct Row {
  std::array<std::string_view, 3> of;  // prefixes of the leading signature's id
  FaultClass fault_class;
  std::string_view statement;
  double prior;                              // relative to the leading reading, before any evidence
  std::array<std::string_view, 8> supports;  // id prefixes
  Needs needs;
  std::string_view control;  // C code
};

// Priors: 0.3 where the reference calls the rival usual, 0.1 where it calls it rare (hardware behind an
// application's memory fault: section 9.2; corrupted arithmetic: section 14.1), 0.5 where the line itself
// decides nothing (a silent rank: section 1.3; a bare SIGKILL: section 16).
constexpr double kUsual = 0.3, kRare = 0.1, kOpen = 0.5;

constexpr Row kRows[] = {
    // a rank that others waited for, without a word of its own
    {{"derived.silent", "derived.behind"},
     FaultClass::kSoftware,
     "the rank was stuck or on another path in its own code",
     kOpen,
     {"py.", "pgw.mismatch", "pg.gil", "pg.desync", "dynamo."},
     Needs::kAnyLog,
     "C23"},
    {{"derived.silent", "derived.behind"},
     FaultClass::kData,
     "its data loader or its storage did not deliver",
     kUsual,
     {"dl.", "nfs.", "lustre.", "hung.", "os.e", "blk.", "nvme.", "fs."},
     Needs::kKernelLog,
     "C11"},
    {{"derived.silent"},
     FaultClass::kHardware,
     "its GPU or its host stopped",
     kUsual,
     {"xid.", "sxid.", "nvrm.", "aer.", "mem.", "panic.", "lock."},
     Needs::kKernelLog,
     "C4"},
    {{"derived.silent", "derived.behind"},
     FaultClass::kTransport,
     "a network path of its host stopped",
     kUsual,
     {"mlx5.", "net.", "nccl.ib.", "nccl.net.", "ib.", "efa."},
     Needs::kKernelLog,
     "C6"},
    {{"derived.silent"},
     FaultClass::kCapacity,
     "the kernel killed it for host memory",
     kUsual,
     {"oom.kernel", "oom.systemd", "slurm.oom", "k8s.oomkilled"},
     Needs::kKernelLog,
     "C14"},
    {{"derived.silent"},
     FaultClass::kScheduler,
     "the scheduler, or a person, ended or stopped it",
     kRare,
     {"slurm.cancel", "slurm.state", "k8s.", "cloud."},
     Needs::kScheduler,
     "C12"},
    {{"derived.behind"},
     FaultClass::kHardware,
     "its GPU hung",
     kUsual,
     {"xid.", "sxid.", "nvrm.", "aer.", "mem.", "thermal."},
     Needs::kKernelLog,
     "C4"},
    // time-outs on all ranks alike
    {{"pg.watchdog_timeout"},
     FaultClass::kSoftware,
     "the ranks issued different collectives, or one was stuck in its code",
     kOpen,
     {"pgw.mismatch", "pg.desync", "py.", "pg.gil"},
     Needs::kAnyLog,
     "C10"},
    {{"pg.watchdog_timeout"},
     FaultClass::kTransport,
     "a link, switch or network card stopped moving data",
     kOpen,
     {"mlx5.", "net.", "nccl.ib.", "nccl.net.", "ib.", "efa.", "sxid."},
     Needs::kKernelLog,
     "C6"},
    {{"pg.watchdog_timeout"},
     FaultClass::kHardware,
     "one GPU hung inside the collective",
     kUsual,
     {"xid.", "sxid.", "nvrm.", "aer.", "mem."},
     Needs::kKernelLog,
     "C4"},
    {{"pg.watchdog_timeout"},
     FaultClass::kData,
     "one rank's data loader or storage was slower than the time-out",
     kUsual,
     {"dl.", "nfs.", "lustre.", "hung.", "os.e", "blk.", "nvme."},
     Needs::kKernelLog,
     "C11"},
    // a signal that leaves no text
    {{"derived.killed"},
     FaultClass::kCapacity,
     "host memory ran out and the kernel, or a cgroup limit, killed it",
     kOpen,
     {"oom.", "slurm.oom", "k8s.oomkilled", "ray.oom", "page.alloc"},
     Needs::kKernelLog,
     "C14"},
    {{"derived.killed"},
     FaultClass::kScheduler,
     "the scheduler or a launcher killed it",
     kUsual,
     {"slurm.cancel", "slurm.state", "k8s.", "cloud.", "elastic.sigterm"},
     Needs::kScheduler,
     "C12"},
    {{"derived.killed"},
     FaultClass::kScheduler,
     "a person or another agent on the host killed it",
     kRare,
     {"boot.shutdown"},
     Needs::kAnyLog,
     "C14"},
    {{"derived.crashed"},
     FaultClass::kHardware,
     "damaged host memory or a device error ended it",
     kRare,
     {"mem.", "ghes.", "xid.", "aer."},
     Needs::kKernelLog,
     "C26"},
    {{"derived.crashed"},
     FaultClass::kData,
     "one sample made a decoder or parser crash",
     kUsual,
     {"img.", "data.", "webdataset.", "dl."},
     Needs::kAnyLog,
     "C15"},
    {{"seg.", "torch.fatal_segv"},
     FaultClass::kHardware,
     "damaged host memory gave the library a wrong address",
     kRare,
     {"mem.", "ghes."},
     Needs::kKernelLog,
     "C26"},
    {{"seg.", "torch.fatal_segv"},
     FaultClass::kData,
     "one sample made a decoder or parser crash",
     kUsual,
     {"img.", "data.", "webdataset."},
     Needs::kAnyLog,
     "C15"},
    // memory faults of a GPU kernel
    {{"xid.13", "xid.31", "cuda.illegal_"},
     FaultClass::kHardware,
     "the GPU itself miscalculates, or translates or reads memory wrongly",
     kRare,
     {"xid.48", "xid.63", "xid.64", "xid.9", "xid.79", "xid.74", "aer."},
     Needs::kKernelLog,
     "C15"},
    {{"xid.13", "xid.31", "cuda.illegal_"},
     FaultClass::kData,
     "an index or label out of range came from the data",
     kUsual,
     {"cuda.assert", "py.index"},
     Needs::kAnyLog,
     "C15"},
    {{"cuda.launch_failure"},
     FaultClass::kHardware,
     "the GPU itself failed under the kernel",
     kUsual,
     {"xid.", "sxid.", "aer.", "nvrm."},
     Needs::kKernelLog,
     "C15"},
    {{"cuda.misaligned"},
     FaultClass::kHardware,
     "the GPU itself miscalculates addresses",
     kRare,
     {"xid.48", "xid.63", "xid.64", "xid.9", "xid.79", "aer."},
     Needs::kKernelLog,
     "C15"},
    // numbers
    {{"nan."},
     FaultClass::kHardware,
     "one device computes wrong values without an error",
     kRare,
     {"xid.", "mem.", "ghes.", "nan.rerun", "num.mismatch"},
     Needs::kKernelLog,
     "C15"},
    {{"nan."},
     FaultClass::kSoftware,
     "learning rate, precision or an operator lets values overflow",
     kOpen,
     {"nan.min_scale", "nan.gradscaler", "nan.overflow", "nan.grad_norm"},
     Needs::kAnyLog,
     "C18"},
    {{"nan."},
     FaultClass::kData,
     "one batch holds a broken sample",
     kUsual,
     {"data.", "img.", "webdataset."},
     Needs::kAnyLog,
     "C18"},
    // broken connections
    {{"nccl.net."},
     FaultClass::kHardware,
     "the peer's host went down",
     kUsual,
     {"panic.", "mem.", "bmc.", "slurm.srun.node", "slurm.ctl.", "boot.", "k8s.node"},
     Needs::kKernelLog,
     "C2"},
    {{"nccl.net."},
     FaultClass::kSoftware,
     "the peer's process ended first and closed its sockets",
     kOpen,
     {"py.", "cuda.", "elastic.failed", "derived."},
     Needs::kAnyLog,
     "C2"},
    {{"nccl.ib."},
     FaultClass::kHardware,
     "the network card or the peer's host failed",
     kUsual,
     {"mlx5.", "aer.", "panic.", "bmc.", "slurm.srun.node", "slurm.ctl."},
     Needs::kKernelLog,
     "C7"},
    {{"nccl.ib."},
     FaultClass::kSoftware,
     "the peer's process ended and its queue pair with it",
     kUsual,
     {"py.", "cuda.", "elastic.failed"},
     Needs::kAnyLog,
     "C6"},
    {{"jax.coord."},
     FaultClass::kHardware,
     "the named task's host or device failed",
     kUsual,
     {"xid.", "panic.", "mem.", "bmc.", "jax.tpu.halt"},
     Needs::kKernelLog,
     "C2"},
    {{"jax.coord."},
     FaultClass::kScheduler,
     "the named task was preempted or evicted",
     kUsual,
     {"k8s.", "cloud.", "slurm.", "jax.preempt"},
     Needs::kScheduler,
     "C13"},
    {{"jax.coord."},
     FaultClass::kCapacity,
     "the named task was killed for memory",
     kUsual,
     {"oom.", "k8s.oomkilled", "jax.oom."},
     Needs::kKernelLog,
     "C14"},
    {{"jax.coord."},
     FaultClass::kSoftware,
     "the named task was alive but too busy to answer (compiling)",
     kUsual,
     {"jax.slow_", "jax.cache_"},
     Needs::kAnyLog,
     "C24"},
    // storage that does not answer
    {{"nfs."},
     FaultClass::kHardware,
     "the client's own network card or link failed",
     kUsual,
     {"mlx5.", "net.", "aer."},
     Needs::kKernelLog,
     "C7"},
    {{"hung."},
     FaultClass::kHardware,
     "a disk or a device of this host does not answer",
     kUsual,
     {"nvme.", "blk.", "md.", "xid.", "mlx5."},
     Needs::kKernelLog,
     "C2"},
    {{"hung."},
     FaultClass::kTransport,
     "a remote file system does not answer",
     kOpen,
     {"nfs.", "lustre.", "ceph.", "cifs.", "gpfs."},
     Needs::kKernelLog,
     "C11"},
};

struct Reading {
  std::string_view control;  // C code; empty: any other
  std::array<std::string_view, 3> outcomes;
};
// Source: section 18 (what each check confirms) and fix F4 ("hardware only if it follows one GPU").
constexpr Reading kReadings[] = {
    {"C15",
     {"the same step with the same data fails on another node as well (it follows the workload): software or "
      "data",
      "it fails only on this GPU, whatever runs there (it follows the node): hardware",
      "it does not come back (it disappears): timing, or a rare fault of the device; keep the node under "
      "watch"}},
    {"C18",
     {"the same batch gives the same bad value on another node (it follows the workload): data or software",
      "only this device gives it (it follows the node): hardware",
      "a repeat is clean (it disappears): wrong values of a device, or data that is not read the same way "
      "twice"}},
    {"C6",
     {"the test passes on these nodes and the job still hangs there (it follows the workload): software or "
      "data",
      "the test fails or is slow with one node or pair (it follows the node): transport or hardware",
      "both are clean (it disappears): congestion or load at that time; read the port counters twice"}},
    {"C4",
     {"diagnostics pass and the hang comes back on other nodes (it follows the workload): software or data",
      "diagnostics fail, or the hang stays with the node (it follows the node): hardware",
      "neither (it disappears): rare; record the node"}},
    {"C14",
     {"memory grows in the same way on any node (it follows the workload): the program's own use, or its "
      "limit",
      "only this node runs short (it follows the node): something else on it holds memory",
      "no kill is counted (it disappears): somebody else sent the signal"}},
    {"",
     {"it comes back on other nodes (it follows the workload): software, data or configuration",
      "it comes back on this node only (it follows the node): hardware or its links",
      "it does not come back (it disappears): a passing cause outside the job"}},
};

// Lines that speak for a rival are worth this factor, a read and silent source its inverse.
constexpr double kSeen = 3.0;
constexpr size_t kQuotedMax = 3;

const std::array<std::string_view, 3>& ReadingOf(std::string_view control) {
  for (const Reading& row : kReadings) {
    if (row.control == control || row.control.empty()) return row.outcomes;
  }
  return kReadings[0].outcomes;
}

// The same rank, or a line of the same host that names no rank; anywhere where the place is not known.
// Who else was told to stop says nothing of the one that was not.
bool AtPlace(const PlacedEvent& event, const Location& place) {
  const bool told_another = event.signature->role == Role::kTeardown && event.place.pid && place.pid && event.place.pid != place.pid;
  if (told_another) return false;
  if (event.place.rank && place.rank) return event.place.rank == place.rank;
  if (!event.place.host.empty() && !place.host.empty()) return event.place.host == place.host;
  return place.host.empty() && !place.rank;
}

bool StartsWithOne(std::string_view id, const std::array<std::string_view, 8>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return !prefix.empty() && id.starts_with(prefix); });
}

// "xid.13" stands for itself, not for "xid.137".
bool IsOf(const Row& row, std::string_view signature) {
  return std::any_of(row.of.begin(), row.of.end(), [&](std::string_view prefix) {
    return !prefix.empty() && signature.starts_with(prefix) &&
           (signature.size() == prefix.size() || !IsDigit(signature[prefix.size()]));
  });
}

bool IsScheduler(const PlacedEvent& event) {
  const std::string& producer = event.signature->row.producer();
  return producer == "slurm" || producer == "kubernetes";
}

std::set<std::string> HostsWithKernelLog(const Incident& incident) {
  std::set<std::string> out;
  for (const SourceDigest* source : incident.sources) {
    if (source->info.kind == SourceInfo::Kind::kKernelLog && source->info.host)
      out.insert(ShortHost(source->info.host->value));
  }
  for (const PlacedEvent& event : incident.events) {
    if (FromKernel(event) && !event.place.host.empty()) out.insert(event.place.host);
  }
  return out;
}

}  // namespace

std::vector<std::string> HostsWithoutKernelLog(const Incident& incident) {
  const std::set<std::string> with = HostsWithKernelLog(incident);
  std::vector<std::string> out;
  for (const std::string& host : incident.hosts) {
    if (!with.contains(host)) out.push_back(host);
  }
  return out;
}

std::vector<Rival> RivalsOf(const Incident& incident, std::string_view signature, const Location& place) {
  const Signature* leading = incident.catalogue->Find(signature);
  const std::vector<std::string> without_kernel_log = HostsWithoutKernelLog(incident);
  const bool scheduler_read = std::any_of(incident.events.begin(), incident.events.end(), IsScheduler);
  std::vector<Rival> out;
  for (const Row& row : kRows) {
    // A reading of the same class is no rival; an effect's class is not a reading of its cause.
    const bool same =
        leading != nullptr && leading->role >= Role::kAmbiguous && leading->fault_class == row.fault_class;
    if (!IsOf(row, signature) || same) continue;
    Rival rival;
    rival.fault_class = row.fault_class;
    rival.statement = std::string(row.statement);
    rival.weight = row.prior;
    for (const PlacedEvent& event : incident.events) {
      if (rival.evidence_for.size() >= kQuotedMax) break;
      if (event.id() == signature || !StartsWithOne(event.id(), row.supports) || !AtPlace(event, place))
        continue;
      rival.evidence_for.push_back(
          Cat("seen: ", event.signature->row.title(), ": ", Quote(event.event->text)));
    }
    if (!rival.evidence_for.empty()) {
      rival.weight *= kSeen;
    } else if (row.needs == Needs::kKernelLog) {
      const bool read = place.host.empty() ? !incident.hosts.empty() && without_kernel_log.empty()
                                           : std::find(without_kernel_log.begin(), without_kernel_log.end(),
                                                       place.host) == without_kernel_log.end();
      if (read) {
        rival.evidence_against.push_back(Cat("the kernel log of ",
                                             place.host.empty() ? "every host" : place.host,
                                             " was read and shows nothing of it"));
        rival.weight /= kSeen;
      }
    } else if (row.needs == Needs::kScheduler) {
      if (scheduler_read) {
        rival.evidence_against.push_back("the scheduler's lines were read and show no order to end");
        rival.weight /= kSeen;
      } else if (const v1::Remedy* check = incident.catalogue->Check(row.control)) {
        rival.missing = Cat(check->title(), ": ", check->command());
      }
    }
    if (const v1::Remedy* check = incident.catalogue->Check(row.control)) {
      rival.control = check->command().empty() ? check->text() : check->command();
    }
    for (std::string_view outcome : ReadingOf(row.control)) rival.reading.emplace_back(outcome);
    out.push_back(std::move(rival));
  }
  double total = 0;
  for (const Rival& rival : out) total += rival.weight;
  for (Rival& rival : out) rival.weight /= std::max(1.0, total);
  std::stable_sort(out.begin(), out.end(),
                   [](const Rival& a, const Rival& b) { return a.weight > b.weight; });
  return out;
}

}  // namespace firstfault
