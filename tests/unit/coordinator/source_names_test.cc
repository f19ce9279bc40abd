#include "coordinator/source_names.h"

#include <gtest/gtest.h>

#include <map>

#include "coordinator/source_name_rows.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

using Kind = SourceInfo::Kind;

// "host=n01 rank=3": the fields that are known, in alphabetical order.
std::string FieldsOf(const SourceInfo& info) {
  const std::map<std::string, const std::optional<Known>*> fields = {
      {"attempt", &info.attempt},       {"host", &info.host},           {"job", &info.job},
      {"local_rank", &info.local_rank}, {"node_rank", &info.node_rank}, {"rank", &info.rank},
      {"stream", &info.stream}};
  std::string out;
  for (const auto& [name, known] : fields) {
    if (*known) out += Cat(out.empty() ? "" : " ", name, "=", (*known)->value);
  }
  return out;
}

TEST(SourceNames, EachRowMatchesItsExample) {
  for (const SourceNameRow& row : SourceNameRows()) {
    const SourceInfo info = NameSource(row.example, "");
    EXPECT_EQ(FieldsOf(info), row.expected) << row.example;
    if (row.part == SourceNameRow::Part::kFile) {
      EXPECT_EQ(info.kind, row.kind) << row.example;
    }
  }
}

struct NameCase {
  const char* path;
  const char* fields;
  Kind kind = Kind::kUnknown;
};

TEST(SourceNames, NamesOfLaunchersSchedulersAndPeople) {
  const NameCase cases[] = {
      {"none_q7_x1z9a/attempt_0/0/stdout.log", "attempt=0 local_rank=0 stream=stdout", Kind::kRankLog},
      {"n01/none_ab12cd34/attempt_2/5/stderr.log.gz", "attempt=2 local_rank=5 stream=stderr", Kind::kRankLog},
      {"a/my_run_ab12cd34/attempt_0/1/error.json", "attempt=0 job=my_run local_rank=1", Kind::kRankLog},
      {"slurm-88121.out", "job=88121", Kind::kMergedLog},
      {"slurm-88121.err", "job=88121 stream=stderr", Kind::kMergedLog},
      {"slurm-88121_12-3.out", "job=88121_12 rank=3", Kind::kRankLog},
      {"88121-0.out", "job=88121 rank=0", Kind::kRankLog},
      {"0_log.err", "rank=0 stream=stderr", Kind::kRankLog},
      {"41820077_3_1_log.out", "job=41820077_3 rank=1 stream=stdout", Kind::kRankLog},
      {"rank_3.log", "rank=3", Kind::kRankLog},
      {"rank3.err", "rank=3 stream=stderr", Kind::kRankLog},
      {"rank-00012.stdout.log.1", "rank=12 stream=stdout", Kind::kRankLog},
      {"Rank_7.txt.zst", "rank=7", Kind::kRankLog},
      {"log_rank12.txt", "rank=12", Kind::kRankLog},
      {"global_rank_9.log", "rank=9", Kind::kRankLog},
      {"ts-0-rank0.log", "rank=0", Kind::kRankLog},
      {"slice1-w0-task2.log", "rank=2", Kind::kRankLog},
      {"worker-3", "node_rank=3"},
      {"worker-03.log", ""},
      {"bert-master-0.log", "host=bert-master-0 node_rank=0"},
      {"kmsg-spk-a.log", "host=spk-a", Kind::kKernelLog},
      {"messages-lx-48.log", "host=lx-48", Kind::kKernelLog},
      {"messages-20260101.gz", "", Kind::kKernelLog},
      {"messages-n01.example.org-20260101.gz", "host=n01.example.org", Kind::kKernelLog},
      {"dmesg-after.txt", "", Kind::kKernelLog},
      {"dmesg-T.txt", "", Kind::kKernelLog},
      {"kern.log", "", Kind::kKernelLog},
      {"n03/syslog.2.gz", "", Kind::kKernelLog},
      {"journal-n07.json", "host=n07", Kind::kKernelLog},
      {"cl-234.dmesg", "host=cl-234", Kind::kKernelLog},
      {"nccl.n01.ib.example.4242", "host=n01.ib.example", Kind::kRankLog},
      {"nccl_debug.n01.4242.log", "host=n01", Kind::kRankLog},
      {"nccl_trace_rank_3", "rank=3", Kind::kFlightRecorder},
      {"rank_7/stderr.log", "rank=7", Kind::kRankLog},
      {"rank_7/rank_3.log", "rank=3", Kind::kRankLog},
      {"rank_7/dmesg.txt", "", Kind::kKernelLog},
      {"job-4711/attempt_2/rank3/out.txt", "attempt=2 job=4711 rank=3", Kind::kRankLog},
      // Nothing that only looks like a rank or a host.
      {"3.log", ""},
      {"logs/7/out.log", ""},
      {"train.log", ""},
      {"train-2.log", ""},
      {"node03.log", ""},
      {"spk-a.log", ""},
      {"frank_12.log", ""},
      {"rank_99999999999.log", "", Kind::kRankLog},
      {"2026-01-02.log", ""},
      {"20260102-030405.out", ""},
      {"", ""},
      {"/", ""},
  };
  for (const NameCase& c : cases) {
    const SourceInfo info = NameSource(c.path, "");
    EXPECT_EQ(FieldsOf(info), c.fields) << c.path;
    EXPECT_EQ(static_cast<int>(info.kind), static_cast<int>(c.kind)) << c.path;
  }
}

TEST(SourceNames, SaysHowAFactIsKnown) {
  const SourceInfo info = NameSource("rank_7/none_ab12cd34/attempt_1/3/stderr.log", "");
  EXPECT_EQ(info.local_rank->by, "file name");
  EXPECT_EQ(info.rank->by, "folder");
}

TEST(SourceNames, ATaskOfTorchrunIsANode) {
  constexpr const char* kTorchrun = "W0101 torch/distributed/run.py:779] \n[default0]: hello\n";
  EXPECT_EQ(FieldsOf(NameSource("slurm-88121-1.out", kTorchrun)), "job=88121 node_rank=1");
  EXPECT_EQ(FieldsOf(NameSource("slurm-88121-1.out", "epoch 1\n")), "job=88121 rank=1");
}

struct ContentCase {
  const char* head;
  Kind kind;
  const char* fields;
};

TEST(SourceNames, AKernelLogIsKnownByItsLines) {
  const ContentCase cases[] = {
      {"[    0.000000] Linux version 6.1\n[12345.678901] NVRM: Xid (PCI:0000:41:00): 79\n", Kind::kKernelLog,
       ""},
      {"[12345.678901][ T1234] mlx5_core 0000:41:00.0: link down\n", Kind::kKernelLog, ""},
      {"6,3964,206764307,-;NVRM: GPU at PCI:0000:41:00\n SUBSYSTEM=pci\n", Kind::kKernelLog, ""},
      {"<6>[   12.345678] pcieport 0000:00:01.0: AER\n", Kind::kKernelLog, ""},
      {"kern  :warn  : [   12.345678] x\n", Kind::kKernelLog, ""},
      {"[Thu Jan  1 10:00:00 2026] NVRM: Xid (PCI:0000:41:00): 79\n", Kind::kKernelLog, ""},
      {"Jan  2 03:04:05 n12 kernel: [1.000000] x\nJan  2 03:04:06 n12 kernel: y\n", Kind::kKernelLog,
       "host=n12"},
      {"2026-01-02T03:04:05.678901+01:00 n12 kernel: x\n", Kind::kKernelLog, "host=n12"},
      {"Jan  2 03:04:05 n12 kernel: x\nJan  2 03:04:06 n13 kernel: y\n", Kind::kKernelLog, ""},
      // A job's log that quotes a kernel line, a web server's log, and a torch log.
      {"step 1\nstep 2\nJan  2 03:04:05 n12 kernel: x\nstep 3\n", Kind::kUnknown, ""},
      {"[Thu Jan 01 10:00:00 2026] [error] no such file\n", Kind::kUnknown, ""},
      {"[rank3]:[E102 03:04:05.678 ProcessGroupNCCL.cpp:607] x\n", Kind::kUnknown, ""},
      {"", Kind::kUnknown, ""},
  };
  for (const ContentCase& c : cases) {
    const SourceInfo info = NameSource("x.log", c.head);
    EXPECT_EQ(static_cast<int>(info.kind), static_cast<int>(c.kind)) << c.head;
    EXPECT_EQ(FieldsOf(info), c.fields) << c.head;
  }
}

TEST(SourceNames, PartsOfPaths) {
  EXPECT_EQ(FileStem("spk-a.log"), "spk-a");
  EXPECT_EQ(FileStem("n01.stderr.log.1"), "n01");
  EXPECT_EQ(FileStem("n01.out-20260102"), "n01");
  EXPECT_EQ(SplitPath("a/./b.tar.gz//c.log.zst").file, "c.log");
  EXPECT_EQ(SplitPath("a/./b.tar.gz//c.log.zst").folders, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(HostBeforeRank("x/slice1-w0-task2.log"), "slice1-w0");
  EXPECT_EQ(HostBeforeRank("x/rank_2.log"), "");
}

}  // namespace
}  // namespace firstfault
