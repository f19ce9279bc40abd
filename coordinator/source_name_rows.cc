#include "coordinator/source_name_rows.h"

namespace firstfault {
namespace {

using Kind = SourceInfo::Kind;
using Part = SourceNameRow::Part;

// Pieces of the patterns below.
#define HOST "[A-Za-z0-9][A-Za-z0-9.-]*?"
#define ORDINAL "(?:0|[1-9][0-9]{0,4})"                // Kubernetes never pads
#define POD_RANDOM "[bcdfghjklmnpqrstvwxz2456789]{5}"  // the alphabet of its random suffixes
// What may follow the telling part of a file name: stream, ending, rotation.
#define END \
  "(?:[._-](?P<stream>stdout|stderr|out|err))?(?:\\.(?:log|txt|jsonl?))?(?:\\.[0-9]{1,3}|-[0-9]{8})?"

const SourceNameRow kRows[] = {
    // torchrun --log-dir. The random suffix is mkdtemp's; "none" is the default run id.
    {Part::kFile, Kind::kRankLog,
     "(?P<job>[^/]+)_[a-z0-9_]{8}/attempt_(?P<attempt>[0-9]+)/(?P<local_rank>[0-9]+)/"
     "(?:(?P<stream>stdout|stderr)\\.log|error\\.json)",
     "logs/c4run_ab12cd34/attempt_1/3/stderr.log", "attempt=1 job=c4run local_rank=3 stream=stderr"},
    {Part::kFile, Kind::kRankLog,
     "attempt_(?P<attempt>[0-9]+)/(?P<local_rank>[0-9]+)/(?:(?P<stream>stdout|stderr)\\.log|error\\.json)",
     "attempt_0/7/error.json", "attempt=0 local_rank=7"},
    // kubelet's own files, and the links to them.
    {Part::kFile, Kind::kUnknown,
     "[^/_]+_(?P<pod>[^/_]+)_[0-9a-f-]{32,36}/[^/]+/(?P<attempt>[0-9]+)\\.log(?:\\.[0-9-]+)?",
     "/var/log/pods/ml_bert-worker-2_5f0c9a3e-8d0b-4b59-9d7c-0c8f6b1d2e3f/pytorch/1.log",
     "attempt=1 host=bert-worker-2 node_rank=2"},
    {Part::kFile, Kind::kUnknown, "(?P<pod>[^/_]+)_[^/_]+_[^/]+-[0-9a-f]{64}\\.log",
     "/var/log/containers/bert-master-0_ml_pytorch-"
     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.log",
     "host=bert-master-0 node_rank=0"},
    // JAX process index in front of the host, launchers' own logs, and hosts with their node's number.
    {Part::kFile, Kind::kRankLog, "(?:task|process|proc)[-_]?(?P<rank>[0-9]+)[-_.](?P<host>" HOST ")" END, "task2-jx-g14.log",
     "host=jx-g14 rank=2"},
    {Part::kFile, Kind::kLauncherLog, "(?:torchrun|launcher|agent|elastic)[-_.](?P<host>" HOST ")" END, "torchrun-lb-3.log",
     "host=lb-3"},
    {Part::kFile, Kind::kUnknown, "(?P<host>" HOST ")[._-]node[-_]?(?P<node_rank>[0-9]+)" END, "inf-h20-b.node1.log",
     "host=inf-h20-b node_rank=1"},
    {Part::kFile, Kind::kKernelLog, "(?:fabricmanager|fabric-manager|nv-fabricmanager|bmc|sel|ipmi)[-_.](?P<host>" HOST ")" END,
     "fabricmanager-hx-07.log", "host=hx-07"},
    {Part::kFile, Kind::kKernelLog, "(?P<host>" HOST ")[-_.](?:ipmi-sel|ipmi|sel|bmc)" END, "bg-013-ipmi-sel.txt", "host=bg-013"},
    // Slurm: --output=%x.%j.%t.%N
    {Part::kFile, Kind::kRankLog, "[A-Za-z][^./]*\\.(?P<job>[0-9]{3,})\\.(?P<task>[0-9]+)\\.(?P<host>" HOST ")" END,
     "vidpre.331904.5.cn210.txt", "host=cn210 job=331904 rank=5"},
    {Part::kFile, Kind::kUnknown, "(?P<host>" HOST ")[._-]console" END, "mcl-w0.console.txt", "host=mcl-w0"},
    // torch's Flight Recorder: TORCH_NCCL_DEBUG_INFO_TEMP_FILE (or TORCH_FR_DUMP_TEMP_FILE) and the rank.
    {Part::kFile, Kind::kFlightRecorder, "(?:nccl|comm_lib)_trace_rank_?(?P<rank>[0-9]+)(?:\\.[a-z]+)?",
     "tmp/nccl_trace_rank_12", "rank=12"},
    // NCCL_DEBUG_FILE=nccl.%h.%p: one process.
    {Part::kFile, Kind::kRankLog,
     "nccl(?:[._-]?(?:debug|log))?[._-](?P<host>" HOST ")\\.[0-9]+(?:\\.(?:log|txt))?", "nccl.n01.4242",
     "host=n01"},
    // Kernel and system logs, without a host, with the host after the word, before it.
    {Part::kFile, Kind::kKernelLog,
     "(?:kmsg|dmesg|messages|syslog|kern|kernel|journal|journalctl)(?:[._-](?:log|txt|json|export|old|[0-9]+)"
     ")*",
     "var/log/kern.log.1", ""},
    {Part::kFile, Kind::kKernelLog,
     "(?:kmsg|dmesg|messages|syslog|kern|kernel|journal|journalctl)[._-](?P<host>" HOST
     ")(?:\\.(?:log|txt|json|export|out))?(?:\\.[0-9]{1,3}|-[0-9]{8})?",
     "dmesg-gx-118.txt", "host=gx-118"},
    {Part::kFile, Kind::kKernelLog,
     "(?P<host>" HOST ")[._-](?:kmsg|dmesg|syslog|kern|journal)(?:\\.(?:log|txt|json|export|out))?",
     "n01.dmesg", "host=n01"},
    // Slurm's %j, %A_%a, %j-%t, %j_%N. One file holds all tasks unless %t is in its name.
    {Part::kFile, Kind::kMergedLog, "slurm-(?P<job>[0-9]+(?:_[0-9]+)?)\\.(?:out|log|txt|(?P<stream>err))",
     "slurm-88121_4.out", "job=88121_4"},
    {Part::kFile, Kind::kRankLog,
     "slurm-(?P<job>[0-9]+(?:_[0-9]+)?)-(?P<task>[0-9]+)\\.(?:out|log|txt|(?P<stream>err))",
     "slurm-88121-3.out", "job=88121 rank=3"},
    {Part::kFile, Kind::kMergedLog,
     "slurm-(?P<job>[0-9]+(?:_[0-9]+)?)[._-](?P<maybe_host>" HOST ")\\.(?:out|log|txt|(?P<stream>err))",
     "slurm-88121-n01.out", "job=88121"},
    {Part::kFile, Kind::kRankLog, "(?P<job>[0-9]{3,10})-(?P<task>[0-9]{1,5})\\.(?:out|(?P<stream>err))",
     "88121-3.err", "job=88121 rank=3 stream=stderr"},
    {Part::kFile, Kind::kMergedLog,
     "(?P<job>[0-9]{3,10})[._-](?P<maybe_host>[A-Za-z][A-Za-z0-9.-]*?)\\.(?:out|log|(?P<stream>err))",
     "88121_n01.out", "job=88121"},
    // submitit: %j_%t_log.out, and %t_log.out in the job's folder.
    {Part::kFile, Kind::kRankLog,
     "(?:(?P<job>[0-9]+(?:_[0-9]+)?)_)?(?P<task>[0-9]+)_log\\.(?P<stream>out|err)", "41820077_5_log.out",
     "job=41820077 rank=5 stream=stdout"},
    // Files called after a rank.
    {Part::kFile, Kind::kRankLog, "(?i)(?:.*[._-])?local[_-]?rank[_-]?(?P<local_rank>[0-9]+)" END,
     "n01/train_local_rank_3.log", "local_rank=3"},
    {Part::kFile, Kind::kUnknown, "(?i)(?:.*[._-])?node[_-]?rank[_-]?(?P<node_rank>[0-9]+)" END,
     "log_node_rank1.txt", "node_rank=1"},
    {Part::kFile, Kind::kRankLog,
     "(?i)(?P<maybe_host>" HOST ")[._-](?:global[_-]?)?rank[_-]?(?P<rank>[0-9]+)" END, "vx-0-rank0.log",
     "rank=0"},
    {Part::kFile, Kind::kRankLog, "(?i)(?:[^/]*[._-])?(?:global[_-]?)?rank[_-]?(?P<rank>[0-9]+)" END,
     "my_log_rank12.err", "rank=12 stream=stderr"},
    {Part::kFile, Kind::kRankLog, "(?i)rank[_-]?(?P<rank>[0-9]+)[._-](?P<maybe_host>[a-z]" HOST ")" END,
     "rank3-n01.log", "rank=3"},
    // JAX's task is its process index, which is its rank.
    {Part::kFile, Kind::kRankLog, "(?:(?P<maybe_host>" HOST ")[._-])?task[_-]?(?P<task>[0-9]+)" END,
     "slice1-w0-task2.log", "rank=2"},
    // Kubernetes pods: Kubeflow's replicas, stateful sets of workers, indexed jobs.
    {Part::kFile, Kind::kUnknown, "worker[_-]?(?P<node_rank>" ORDINAL ")" END, "worker-3.log", "node_rank=3"},
    {Part::kFile, Kind::kUnknown, "(?P<pod>[a-z0-9][a-z0-9-]*-(?:worker|master)-" ORDINAL ")" END,
     "bert-worker-3.log", "host=bert-worker-3 node_rank=3"},
    {Part::kFile, Kind::kUnknown, "(?P<pod>[a-z][a-z0-9-]*-" ORDINAL "-" POD_RANDOM ")" END,
     "bert-5-x7kq2.log", "host=bert-5-x7kq2 node_rank=5"},
    {Part::kFile, Kind::kMergedLog, "(?P<pod>[a-z][a-z0-9-]*-launcher(?:-0|-" POD_RANDOM ")?)" END,
     "bert-launcher-x7kq2.log", "host=bert-launcher-x7kq2"},
    // Slurm's %x_%N and the like: only a candidate.
    {Part::kFile, Kind::kUnknown, "[^/]*_(?P<maybe_host>[A-Za-z]" HOST ")" END, "train_n01.log", ""},
    // Accounting, events and device tables: they speak of many hosts, or of one that another log names.
    {Part::kFile, Kind::kLauncherLog,
     "(?:sacct|squeue|sinfo|scontrol|slurmctld|kubectl|events|describe|raylet|gcs_server)(?:[-_.][^/]*)?",
     "sacct-901177.txt", ""},
    {Part::kFile, Kind::kMergedLog, "(?:nvidia-smi|rocm-smi|dcgmi)(?:[-_.](?P<maybe_host>" HOST "))?(?:\\.(?:txt|csv|log|xml))?",
     "nvidia-smi-n01.txt", ""},

    {Part::kFolder, Kind::kRankLog, "(?i)(?:global[_-]?)?rank[_=-]?(?P<rank>[0-9]+)", "rank_7/out.log",
     "rank=7"},
    {Part::kFolder, Kind::kRankLog, "(?i)local[_-]?rank[_=-]?(?P<local_rank>[0-9]+)", "local_rank_1/out.log",
     "local_rank=1"},
    {Part::kFolder, Kind::kUnknown, "(?i)node[_-]?rank[_=-]?(?P<node_rank>[0-9]+)", "node_rank_1/out.log",
     "node_rank=1"},
    {Part::kFolder, Kind::kUnknown, "node_(?P<node_rank>[0-9]+)", "node_2/out.log", "node_rank=2"},
    {Part::kFolder, Kind::kRankLog, "task[_-]?(?P<task>[0-9]+)", "task_4/out.log", "rank=4"},
    {Part::kFolder, Kind::kUnknown, "worker[_-](?P<node_rank>" ORDINAL ")", "worker-1/out.log",
     "node_rank=1"},
    {Part::kFolder, Kind::kUnknown, "(?P<pod>[a-z0-9][a-z0-9-]*-(?:worker|master)-" ORDINAL ")",
     "bert-worker-1/out.log", "host=bert-worker-1 node_rank=1"},
    {Part::kFolder, Kind::kUnknown, "(?:attempt|restart)[_-](?P<attempt>[0-9]+)", "attempt_2/out.log",
     "attempt=2"},
    {Part::kFolder, Kind::kUnknown, "(?:slurm|job)[_-](?P<job>[0-9]+)", "job-88121/out.log", "job=88121"},
    {Part::kFolder, Kind::kUnknown, "host[_=-](?P<host>" HOST ")", "host=n01/out.log", "host=n01"},
};

}  // namespace

const std::vector<SourceNameRow>& SourceNameRows() {
  static const auto& rows = *new std::vector<SourceNameRow>(std::begin(kRows), std::end(kRows));
  return rows;
}

const char* PodOrdinalPattern() {
  return "(?:.*)-(?:worker|master)-(" ORDINAL ")|.*-(" ORDINAL ")-" POD_RANDOM;
}

#undef HOST
#undef ORDINAL
#undef POD_RANDOM
#undef END

}  // namespace firstfault
