// Golden incidents while they happen: each host's files are written bit by bit before the eyes of a real agent, and
// a real coordinator must say what `firstfault diagnose` says of the same bytes.
//
// FIRSTFAULT_LIVE_CASES: "all", or names with commas between, instead of the ones below.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "correlate/text.h"
#include "proto/event_log.h"
#include "tests/e2e/programs.h"
#include "tests/golden/judge.h"
#include "tests/golden/read_folder.h"

namespace firstfault::e2e {
namespace {

namespace fs = std::filesystem;
using golden::LogFile;

const std::string kGolden = FIRSTFAULT_SOURCE_DIR "/tests/golden";
// One merged log, one file a host, one a rank, kernel logs beside them, torchrun's folders, no failure.
const char* const kCases[] = {"001-spawn-oom-long-utterance",
                              "038-tmp-checkpoint-rename-race",
                              "105-host-resets-no-heartbeat",
                              "110-nfs-stall-in-one-rank-loader",
                              "113-cuda-oom-hidden-by-clock-skew",
                              "torchrun/exception-4-hosts",
                              "torchrun/none-2-hosts"};

std::vector<std::string> ChosenCases() {
  const char* chosen = std::getenv("FIRSTFAULT_LIVE_CASES");
  if (chosen == nullptr) return {std::begin(kCases), std::end(kCases)};
  std::vector<std::string> out;
  if (chosen == std::string("all")) {
    for (const golden::Case& one : golden::ReadCases(kGolden)) out.push_back(one.name);
  } else {
    for (const std::string_view name : Split(chosen, ',')) out.emplace_back(name);
  }
  return out;
}

// Files whose host nothing tells are read here. Live, the agent knows it.
const std::string kElsewhere = "login-1";

// A file as it stands on its host: HOST/PATH.
LogFile OnItsHost(const LogFile& file, const std::map<std::string, std::string>& host_of) {
  const auto host = host_of.find(file.path);
  return {Cat(host == host_of.end() ? kElsewhere : host->second, "/", file.path), file.bytes};
}

golden::LogFolder HostFolders(const fs::path& folder) {
  std::map<std::string, std::string> host_of;
  for (const SourceDigest& digest : golden::LoadFolder(folder).digests) {
    if (digest.info.host) host_of[digest.info.path] = digest.info.host->value;
  }
  golden::LogFolder out;
  for (const LogFile& file : golden::ReadFiles(folder)) {
    if (file.path != "expected.json") out.push_back(OnItsHost(file, host_of));
  }
  return out;
}

void Append(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A writer does not end its writes at line ends.
constexpr size_t kPieces = 6;
constexpr auto kPause = std::chrono::milliseconds(40);

enum class Rotation { kNone, kRename };

class Incident {
 public:
  Incident(const std::string& name, const fs::path& scratch)
      : files_(HostFolders(kGolden + "/" + name)), whole_(scratch / "whole"), live_(scratch / "live") {
    for (const LogFile& file : files_) {
      hosts_.insert(file.path.substr(0, file.path.find('/')));
      for (const fs::path& root : {whole_, live_}) fs::create_directories((root / file.path).parent_path());
      Append(whole_ / file.path, file.bytes);
    }
  }

  Result Diagnose() const { return Shell(Cat("cd ", whole_.string(), " && ", FIRSTFAULT_BINARY, " diagnose --json *")); }
  // Offline knows the host of each file, as its agent does.
  bool hosts_known() const { return !hosts_.contains(kElsewhere); }

  std::vector<Child> StartAgents(const std::string& coordinator, const fs::path& spools, const std::string& job, const std::string& ship) const {
    std::vector<Child> out;
    for (const std::string& host : hosts_) {
      auto words = AgentWords(coordinator, spools / host, job);
      for (const std::string& word : {std::string("--host"), host, std::string("--root"), (live_ / host).string(), std::string("--ship"), ship}) words.push_back(word);
      for (const char* glob : {"/*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*", "/*/*/*/*/*/*"}) {
        words.push_back("--log");
        words.push_back(glob);
      }
      out.emplace_back(words, -1, /*hold_term=*/true);  // a busy machine starts them late
    }
    return out;
  }

  size_t files() const { return files_.size(); }

  // Of the pieces of each file those from `from` up to `to`; a rotation comes first.
  void Write(size_t from, size_t to, Rotation rotation) const {
    for (size_t piece = from; piece < to; ++piece) {
      for (const LogFile& file : files_) {
        const size_t begin = file.bytes.size() * piece / kPieces, end = file.bytes.size() * (piece + 1) / kPieces;
        if (rotation == Rotation::kRename && piece == from) {
          fs::rename(live_ / file.path, (live_ / file.path).string() + ".1");
        }
        Append(live_ / file.path, std::string_view(file.bytes).substr(begin, end - begin));
      }
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  const golden::LogFolder files_;
  const fs::path whole_, live_;
  std::set<std::string> hosts_;
};

// Where a job stands is known live only, and so is its name.
std::string WithoutState(v1::Report report) {
  report.clear_state();
  report.clear_job();
  report.clear_attempt();
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string out;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(report, &out, options).ok());
  return out;
}

// The first line in which they differ.
std::string Difference(const std::string& a, const std::string& b) {
  const std::vector<std::string_view> left = Split(a, '\n'), right = Split(b, '\n');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string_view l = i < left.size() ? left[i] : "", r = i < right.size() ? right[i] : "";
    if (l != r) return Cat("line ", i + 1, ": ", l.substr(0, 300), "\n  now: ", r.substr(0, 300));
  }
  return "";
}

std::string Verdict(const v1::Report& report) {
  return Cat(report.verdict(), ", ", golden::PlaceText(report), ", ", report.class_(), " ", report.signature(), ", ",
             report.root().source(), ":", report.root().line(), " ", report.root().text(), "; first ",
             report.first_warning().source(), ":", report.first_warning().line(), " ", report.first_warning().text());
}

// Until so many are being read: what is renamed before has another name.
void WaitForSources(const std::string& coordinator, size_t count) {
  size_t seen = 0;
  for (int i = 0; i < 100 && seen != count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Result now = Why(coordinator, "run-7 --json");
    if (now.out.starts_with('{')) seen = static_cast<size_t>(ParseReport(now.out).completeness().sources_size());
  }
  EXPECT_EQ(seen, count);
}

void SaysWhatDiagnoseSays(const std::string& name, const std::string& ship, Rotation rotation) {
  SCOPED_TRACE(Cat(name, ", --ship ", ship));
  const Scratch scratch;
  const Incident incident(name, scratch.path());
  const Result offline = incident.Diagnose();
  Coordinator coordinator(scratch.path() / "data");
  std::vector<Child> agents = incident.StartAgents(coordinator.address(), scratch.path() / "spools", "run-7", ship);
  incident.Write(0, kPieces / 2, Rotation::kNone);
  if (rotation == Rotation::kRename) WaitForSources(coordinator.address(), incident.files());
  incident.Write(kPieces / 2, kPieces, rotation);
  // A file that was renamed is left when nobody has written to it for two seconds.
  if (rotation == Rotation::kRename) std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  for (Child& agent : agents) EXPECT_EQ(agent.End(SIGTERM), 0);
  const Result online = Why(coordinator.address(), "run-7 --json --wait final");
  EXPECT_EQ(online.code, offline.code);
  const v1::Report expected = ParseReport(offline.out), report = ParseReport(online.out);
  EXPECT_EQ(report.state().finality(), "final");
  EXPECT_EQ(Verdict(report), Verdict(expected));
  if (ship == "all" && incident.hosts_known()) {
    EXPECT_EQ(Difference(WithoutState(expected), WithoutState(report)), "");
  }
  EXPECT_EQ(coordinator.End(SIGTERM), 0);
}

TEST(Live, EverythingShippedIsTheSameReport) {
  for (const std::string& name : ChosenCases()) SaysWhatDiagnoseSays(name, "all", Rotation::kNone);
}

TEST(Live, WhatDecidesIsTheSameVerdict) {
  for (const std::string& name : ChosenCases()) SaysWhatDiagnoseSays(name, "matches", Rotation::kNone);
}

TEST(Live, RotatedFilesAreTheSameReport) {
  SaysWhatDiagnoseSays("110-nfs-stall-in-one-rank-loader", "all", Rotation::kRename);
}

// A rank that says nothing is heard when another one fails: the coordinator asks for its last lines.
TEST(Live, TheLastWordsOfTheOthersAreAskedFor) {
  const Scratch scratch;
  Coordinator coordinator(scratch.path() / "data");
  std::string quiet;
  for (int i = 0; i < 2000; ++i) quiet += Cat("note ", i, "\n");
  std::vector<Child> agents;
  for (const char* host : {"n00", "n01"}) {
    fs::create_directories(scratch.path() / host);
    Append(scratch.path() / host / "rank.log", quiet);
    auto words = AgentWords(coordinator.address(), scratch.path() / "spools" / host, "run-7");
    for (const std::string& word : {std::string("--host"), std::string(host), std::string("--root"), (scratch.path() / host).string(), std::string("--log"), std::string("/*.log")}) words.push_back(word);
    agents.emplace_back(words);
  }
  WaitForSources(coordinator.address(), 2);
  Append(scratch.path() / "n01" / "rank.log", "RuntimeError: CUDA error: an illegal memory access was encountered\n");
  bool heard = false;
  for (int i = 0; i < 50 && !heard; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Shell(Cat("cp ", (scratch.path() / "data").string(), "/run-7.0.recording* ", scratch.path().string()));
    auto log = EventLog::Open((scratch.path() / "run-7.0.recording").string());
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE((*log)->Read(1, [&](const v1::LoggedBatch& batch) {
      for (const v1::Record& record : batch.batch().record()) heard |= batch.host() == "n00" && record.span().reason() == v1::Span::TAIL;
      return true;
    }).ok());
  }
  EXPECT_TRUE(heard);
  const Result why = Why(coordinator.address(), "run-7");
  EXPECT_EQ(why.out.find("The agent on"), std::string::npos) << why.out;
  EXPECT_EQ(agents[0].End(SIGKILL), -SIGKILL);
  EXPECT_NE(Why(coordinator.address(), "run-7").out.find("The agent on n00 has gone"), std::string::npos);
}

}  // namespace
}  // namespace firstfault::e2e
