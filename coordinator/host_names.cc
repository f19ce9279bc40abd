#include "coordinator/host_names.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "coordinator/source_names.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// First words of log files and run folders. Whatever number follows, it counts runs, not machines.
const std::unordered_set<std::string>& LogWords() {
  static const auto& words = *new std::unordered_set<std::string>{
      "after",     "all",     "app",      "attempt",  "backup",     "batch",    "before",   "bench",
      "bert",      "boot",    "build",    "case",     "checkpoint", "chunk",    "ci",       "ckpt",
      "config",    "console", "copy",     "cuda",     "current",    "data",     "dcgm",     "debug",
      "deepspeed", "device",  "dmesg",    "dpo",      "dump",       "epoch",    "err",      "error",
      "errors",    "eval",    "events",   "exp",      "experiment", "export",   "finetune", "fold",
      "full",      "global",  "gpt",      "group",    "head",       "info",     "iso",      "iter",
      "job",       "jobs",    "kernel",   "kmsg",     "last",       "launch",   "launcher", "llama",
      "local",     "log",     "logs",     "main",     "metrics",    "mistral",  "model",    "monitor",
      "nccl",      "new",     "nvidia",   "old",      "oom",        "out",      "output",   "part",
      "phase",     "pod",     "ppo",      "pretrain", "prev",       "previous", "proc",     "process",
      "profile",   "qwen",    "rank",     "raw",      "report",     "resnet",   "restart",  "result",
      "results",   "rlhf",    "run",      "runs",     "sample",     "sbatch",   "seed",     "session",
      "sft",       "shard",   "slurm",    "stage",    "stats",      "stderr",   "stdout",   "step",
      "summary",   "sweep",   "tail",     "task",     "test",       "tmp",      "torchrun", "trace",
      "train",     "trainer", "training", "trial",    "val",        "valid",    "version",  "vit",
      "warn",      "xid"};
  return words;
}

// Words that only machines are called by, for names where the host is the smaller part ("train_n01").
constexpr const char* kNodeWord =
    "(?i)(?:n|nid|nd|node|host|h|gn|gpu|gpunode|cn|compute|srv|server|dgx|hgx|worker|w|ip)-?[a-z]?-?[0-9]+";

std::string FirstWord(std::string_view word) {
  std::string first;
  for (const char c : word) {
    if (!std::isalpha(static_cast<unsigned char>(c))) break;
    first.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return first;
}

// A commit, a uuid, a random suffix: as varied as hosts, but no host.
bool IsHexId(std::string_view word) {
  return word.size() >= 8 && word.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

// Digits and a last single letter do not count: "a6k-n1" -> "a#k-n#", "asr-a" -> "asr-@".
std::string Shape(std::string_view word) {
  std::string shape;
  for (const char c : word) {
    if (!IsDigit(c)) {
      shape.push_back(c);
    } else if (shape.empty() || shape.back() != '#') {
      shape.push_back('#');
    }
  }
  if (word.size() > 2 && word[word.size() - 2] == '-' && !IsDigit(word.back())) shape.back() = '@';
  return shape;
}

std::string_view ShortName(std::string_view host) { return host.substr(0, host.find('.')); }

struct Candidate {
  std::string_view word;
  std::string siblings;  // where to look for others: folder, place and shape
  const char* by;
  bool by_form;  // looks like a host; else only a source whose host is certain can confirm it
};

std::vector<Candidate> CandidatesOf(const SourceInfo& info) {
  std::vector<Candidate> out;
  const PathParts parts = SplitPath(info.path);
  std::string folder;
  for (const std::string_view name : parts.folders) {
    out.insert(out.begin(), {name, Cat(folder, "/", Shape(name)), "folder", LooksLikeHost(name)});
    folder += Cat("/", name);
  }
  const auto file_candidate = [&](std::string_view word, bool by_form) {
    out.insert(out.begin(), {word, Cat(folder, "//", Shape(word)), "file name", by_form});
  };
  static const RE2& node_word = *new RE2(kNodeWord);
  const std::string_view stem = FileStem(parts.file);
  const std::string_view before_rank = HostBeforeRank(info.path);
  const size_t cut = stem.find_first_of("-_");
  if (!before_rank.empty()) {
    const bool whole = stem.starts_with(before_rank);
    file_candidate(before_rank, whole ? LooksLikeHost(before_rank) : RE2::FullMatch(before_rank, node_word));
  } else if (cut != std::string_view::npos && IsLogWord(stem)) {
    const std::string_view rest = stem.substr(cut + 1);
    file_candidate(rest, RE2::FullMatch(rest, node_word));
  } else if (!stem.empty()) {
    file_candidate(stem, LooksLikeHost(stem));
  }
  return out;
}

// Kubeflow's PyTorchJob: the master is node 0 and the workers follow it.
void CountMasters(const std::vector<SourceInfo*>& sources) {
  static const RE2& master = *new RE2("(.+)-master-0");
  static const RE2& worker = *new RE2("(.+)-worker-([0-9]+)");
  std::set<std::string> jobs;
  std::string job;
  for (const SourceInfo* info : sources) {
    if (info->host && RE2::FullMatch(info->host->value, master, &job)) jobs.insert(job);
  }
  for (SourceInfo* info : sources) {
    int32_t ordinal = 0;
    if (!info->host || !info->node_rank || info->node_rank->by == "--map") continue;
    if (!RE2::FullMatch(info->host->value, worker, &job, &ordinal) || !jobs.contains(job)) continue;
    info->node_rank->value = std::to_string(int64_t{ordinal} + 1);
  }
}

}  // namespace

bool IsLogWord(std::string_view word) {
  const std::string first = FirstWord(word);
  return LogWords().contains(first);
}

bool LooksLikeHost(std::string_view word) {
  static const RE2& form = *new RE2("[A-Za-z][A-Za-z0-9]*(?:[.-][A-Za-z0-9]+)*");
  // One log per GPU is as likely; versions and learning rates.
  static const RE2& counted = *new RE2("(?i)gpu-?[0-9]|(?:v|t|lr)[0-9.]+");
  const bool numbered = std::any_of(word.begin(), word.end(), IsDigit);
  const bool lettered = word.size() > 2 && word[word.size() - 2] == '-';
  return (numbered || lettered) && word.size() <= 253 && RE2::FullMatch(word, form) && !IsLogWord(word) &&
         !IsHexId(word) && !RE2::FullMatch(word, counted);
}

void NameHostsBySiblings(const std::vector<SourceInfo*>& sources) {
  std::set<std::string, std::less<>> certain;
  for (const SourceInfo* info : sources) {
    if (!info->host) continue;
    certain.insert(info->host->value);
    certain.emplace(ShortName(info->host->value));
  }
  std::unordered_map<std::string, std::set<std::string_view>> siblings;
  std::vector<std::vector<Candidate>> candidates;
  for (const SourceInfo* info : sources) {
    candidates.push_back(info->host ? std::vector<Candidate>() : CandidatesOf(*info));
    for (const Candidate& candidate : candidates.back()) {
      if (candidate.by_form) siblings[candidate.siblings].insert(candidate.word);
    }
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const Candidate& candidate : candidates[i]) {
      const bool known = certain.contains(ShortName(candidate.word));
      const bool confirmed = candidate.by_form && siblings[candidate.siblings].size() > 1;
      if (!known && !confirmed) continue;
      sources[i]->host = Known{std::string(candidate.word), candidate.by};
      break;
    }
  }
  CountMasters(sources);
}

}  // namespace firstfault
