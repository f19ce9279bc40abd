#include "coordinator/host_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/source_names.h"

namespace firstfault {
namespace {

// Host of each path, "-" where none is known, in the order of the paths.
std::vector<std::string> HostsOf(const std::vector<std::string>& paths) {
  std::vector<SourceInfo> infos;
  std::vector<SourceInfo*> pointers;
  for (const std::string& path : paths) infos.push_back(NameSource(path, ""));
  for (SourceInfo& info : infos) pointers.push_back(&info);
  NameHostsBySiblings(pointers);
  std::vector<std::string> hosts;
  for (const SourceInfo& info : infos) hosts.push_back(info.host ? info.host->value : "-");
  return hosts;
}

struct JobLogs {
  const char* what;
  std::vector<std::string> paths, hosts;
};

const JobLogs kRuns[] = {
    {"a stem beside another of its shape", {"r/spk-a.log", "r/spk-b.log"}, {"spk-a", "spk-b"}},
    {"shapes with digits", {"a6k-n1.log", "a6k-n2.log"}, {"a6k-n1", "a6k-n2"}},
    {"shapes with letters and digits", {"hpc-c117.log", "hpc-c118.log"}, {"hpc-c117", "hpc-c118"}},
    {"a lone stem", {"spk-a.log", "train.log"}, {"-", "-"}},
    {"out and err of one stem", {"n01.out", "n01.err"}, {"-", "-"}},
    {"a stem that a kernel log names", {"spk-a.log", "kmsg-spk-a.log"}, {"spk-a", "spk-a"}},
    {"a plain name that a kernel log names", {"gauss.log", "messages-gauss.log"}, {"gauss", "gauss"}},
    {"a short name of a full one", {"n07.log", "messages-n07.example.org.log"}, {"n07", "n07.example.org"}},
    {"other folder, no sibling", {"a/n01.log", "b/n02.log"}, {"-", "-"}},
    {"runs, not machines", {"train-1.log", "train-2.log", "epoch3.log", "epoch4.log"}, {"-", "-", "-", "-"}},
    {"settings, not machines",
     {"cfg_lr1.log", "cfg_lr2.log", "x_b32.log", "x_b64.log"},
     {"-", "-", "-", "-"}},
    {"one log a GPU", {"gpu0.log", "gpu1.log"}, {"-", "-"}},
    {"bare numbers", {"1.log", "2.log"}, {"-", "-"}},
    {"identifiers", {"deadbeef01.log", "deadbeef02.log"}, {"-", "-"}},
    {"before the rank", {"ts-0-rank0.log", "ts-1-rank1.log"}, {"ts-0", "ts-1"}},
    {"a job before the rank", {"gpt2-rank0.log", "gpt2-rank1.log"}, {"-", "-"}},
    {"JAX slices", {"slice0-w0-task0.log", "slice1-w0-task2.log"}, {"slice0-w0", "slice1-w0"}},
    {"after the job's name", {"train_n01.log", "train-n02.log", "train_n03.log"}, {"n01", "n02", "n03"}},
    {"after the job's number", {"88121_n01.out", "88121_n02.out"}, {"n01", "n02"}},
    {"folders", {"c/n01/out.log", "c/n02/out.log"}, {"n01", "n02"}},
    {"node folders", {"node-3/x.log", "node-4/x.log"}, {"node-3", "node-4"}},
    {"a folder above torchrun's",
     {"n01/none_ab12cd34/attempt_0/0/stderr.log", "n02/none_zz12cd34/attempt_0/0/stderr.log"},
     {"n01", "n02"}},
    {"archives of hosts", {"n01.tar.gz/var/log/x.log", "n02.tar.gz/var/log/x.log"}, {"n01", "n02"}},
    {"folders of runs", {"run1/x.log", "run2/x.log", "v1/x.log", "v2/x.log"}, {"-", "-", "-", "-"}},
    {"the nearest folder that fits", {"n01/rank_0/x.log", "n02/rank_1/x.log"}, {"n01", "n02"}},
};

TEST(HostNames, SiblingsConfirmEachOther) {
  for (const JobLogs& run : kRuns) EXPECT_EQ(HostsOf(run.paths), run.hosts) << run.what;
}

TEST(HostNames, TheOrderOfTheSourcesDoesNotMatter) {
  for (const JobLogs& run : kRuns) {
    std::vector<std::string> paths(run.paths.rbegin(), run.paths.rend());
    std::vector<std::string> hosts = HostsOf(paths);
    std::reverse(hosts.begin(), hosts.end());
    EXPECT_EQ(hosts, run.hosts) << run.what;
  }
}

TEST(HostNames, WhatWasSetBeforeStays) {
  SourceInfo a = NameSource("n01.log", ""), b = NameSource("n02.log", "");
  a.host = Known{"login7", "--map"};
  NameHostsBySiblings({&a, &b});
  EXPECT_EQ(a.host->value, "login7");
}

TEST(HostNames, WorkersFollowTheirMaster) {
  SourceInfo master = NameSource("bert-master-0.log", "");
  SourceInfo worker = NameSource("bert-worker-0.log", "");
  SourceInfo other = NameSource("gpt-worker-0.log", "");
  NameHostsBySiblings({&worker, &other, &master});
  EXPECT_EQ(master.node_rank->value, "0");
  EXPECT_EQ(worker.node_rank->value, "1");
  EXPECT_EQ(other.node_rank->value, "0");
}

TEST(HostNames, LooksLikeAHost) {
  for (const char* word : {"n01", "spk-a", "a6k-n1", "lx-48", "node03", "hpc-c117", "gpu-n3.example.org",
                           "ip-10-0-0-7", "v100-3", "slice1-w0", "dgx07"}) {
    EXPECT_TRUE(LooksLikeHost(word)) << word;
  }
  for (const char* word :
       {"train",  "log",           "output", "pod",     "trial",
        "ci",     "stdout",        "worker", "train-2", "log12",
        "3",      "2026-01-02",    "",       "-",       "v2",
        "rank_3", "none_ab12cd34", "gpu3",   "a b1",    "5f0c9a3e-8d0b-4b59-9d7c-0c8f6b1d2e3f"}) {
    EXPECT_FALSE(LooksLikeHost(word)) << word;
  }
}

}  // namespace
}  // namespace firstfault
