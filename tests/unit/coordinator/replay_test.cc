// A recording gives one report, whatever the order in which it came about.
#include "coordinator/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "coordinator/source_names.h"
#include "correlate/correlate.h"

namespace firstfault {
namespace {

constexpr char kOom[] =
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 1 has a total capacity of "
    "79.11 GiB of which 1.87 GiB is free. Including non-PyTorch memory, this process has 71.20 GiB memory in use.\n";

// One agent's part of a job.
class Agent {
 public:
  Agent(std::string host, std::string spool) : host_(std::move(host)), spool_(std::move(spool)) {}

  v1::Record* Add() {
    v1::LoggedBatch& batch = batches.emplace_back();
    batch.set_host(host_);
    batch.set_spool_id(spool_);
    batch.mutable_batch()->set_sequence(batches.size());
    batch.mutable_batch()->set_job("job");
    return batch.mutable_batch()->add_record();
  }
  void Open(uint32_t source, const std::string& path, bool shared = false) {
    v1::SourceOpened* opened = Add()->mutable_source_opened();
    opened->set_source(source);
    opened->set_path(path);
    opened->set_shared(shared);
  }
  void Send(uint32_t source, uint64_t offset, uint64_t line, const std::string& raw) {
    v1::Span* span = Add()->mutable_span();
    span->set_source(source);
    span->set_byte_offset(offset);
    span->set_first_line(line);
    span->set_raw(raw);
  }
  void Close(uint32_t source, uint64_t bytes, uint64_t lines) {
    v1::SourceClosed* closed = Add()->mutable_source_closed();
    closed->set_source(source);
    closed->set_bytes(bytes);
    closed->set_lines(lines);
  }

  std::vector<v1::LoggedBatch> batches;

 private:
  std::string host_, spool_;
};

std::vector<v1::LoggedBatch> Join(const std::vector<Agent>& agents) {
  std::vector<v1::LoggedBatch> out;
  for (const Agent& agent : agents) out.insert(out.end(), agent.batches.begin(), agent.batches.end());
  return out;
}

Replay ReplayOf(const std::vector<v1::LoggedBatch>& batches, uint64_t lost = 0) {
  return ReplayBatches(BuiltInEngine(), batches, lost);
}

std::string Numbered(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += "[rank1]: iter " + std::to_string(i) + ": loss 2.5\n";
  return out;
}

std::vector<Agent> Failing() {
  Agent one("n01", "aa"), two("n02", "bb");
  const std::string head = Numbered(0, 40);
  two.Open(1, "/logs/rank1.log");
  two.Send(1, 0, 1, head);
  two.Send(1, head.size(), 41, kOom);
  two.Close(1, head.size() + sizeof(kOom) - 1, 41);
  one.Open(1, "/logs/rank0.log");
  one.Send(1, 0, 1, "[rank0]: iter 1: loss 2.5\n");
  one.Close(1, 26, 1);
  return {one, two};
}

TEST(Replay, NamesTheSourceByHostAndPath) {
  const Replay replay = ReplayOf(Join(Failing()));
  EXPECT_EQ(replay.report.verdict(), "named");
  EXPECT_EQ(replay.report.initiator().rank(), 1);
  EXPECT_EQ(replay.report.initiator().host(), "n02");
  EXPECT_EQ(replay.report.root().source(), "n02/logs/rank1.log");
  EXPECT_EQ(replay.report.root().line(), 41);
  EXPECT_EQ(replay.report.state().state(), "failed");
  EXPECT_TRUE(replay.all_closed);
  EXPECT_FALSE(replay.job_closed);
}

TEST(Replay, AnAgentsHostPlacesRankLogsButNotALaunchersOutput) {
  Agent of_rank("worker", "aa"), of_launcher("login", "bb");
  of_rank.Open(1, "/logs/rank1.log");
  of_rank.Send(1, 0, 1, kOom);
  of_launcher.Open(1, "/logs/train.log");
  of_launcher.Send(1, 0, 1, kOom);
  const Replay placed = ReplayOf(of_rank.batches);
  EXPECT_EQ(placed.report.initiator().host(), "worker");
  EXPECT_EQ(placed.report.completeness().sources(0).known_by(), "host: agent, rank: file name");
  const Replay unplaced = ReplayOf(of_launcher.batches);
  EXPECT_EQ(unplaced.report.initiator().rank(), 1);
  EXPECT_FALSE(unplaced.report.initiator().has_host());
}

TEST(Replay, ASharedFileIsOneSourceOfNoHost) {
  std::vector<Agent> agents = {{"n01", "aa"}, {"n02", "bb"}};
  const std::string head = Numbered(0, 40);
  for (Agent& agent : agents) {
    agent.Open(1, "/scratch/rank1.log", true);
    agent.Send(1, 0, 1, head + kOom);
    agent.Close(1, head.size() + sizeof(kOom) - 1, 41);
  }
  const Replay replay = ReplayOf(Join(agents));
  ASSERT_EQ(replay.report.completeness().sources_size(), 1);
  EXPECT_EQ(replay.report.completeness().sources(0).lines(), 41);
  EXPECT_EQ(replay.report.root().source(), "scratch/rank1.log");
  EXPECT_EQ(replay.report.initiator().rank(), 1);
  EXPECT_FALSE(replay.report.initiator().has_host());
}

TEST(Replay, ArrivalDoesNotMatter) {
  std::vector<v1::LoggedBatch> batches = Join(Failing());
  const std::string expected = ReplayOf(batches).report.SerializeAsString();
  std::mt19937 random(11);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(batches.begin(), batches.end(), random);
    int64_t arrival = 0;
    for (v1::LoggedBatch& batch : batches) batch.set_arrived_ns(++arrival);
    EXPECT_EQ(ReplayOf(batches).report.SerializeAsString(), expected);
  }
}

TEST(Replay, WhatWasSentTwiceCountsOnce) {
  std::vector<Agent> agents = Failing();
  const std::string expected = ReplayOf(Join(agents)).report.SerializeAsString();
  const std::string head = Numbered(0, 40);
  agents[1].Send(1, 0, 1, head);                                       // the same again
  agents[1].Send(1, head.size() / 2, 0, head.substr(head.size() / 2));  // its end again
  EXPECT_EQ(ReplayOf(Join(agents)).report.SerializeAsString(), expected);
}

TEST(Replay, HolesKeepLinesAndOffsets) {
  Agent agent("n02", "bb");
  const std::string head = Numbered(0, 64), hole = Numbered(64, 500), before = Numbered(500, 600);
  agent.Open(1, "rank1.log");
  agent.Send(1, 0, 1, head);
  agent.Send(1, head.size() + hole.size(), 501, before + kOom);
  const size_t bytes = head.size() + hole.size() + before.size() + sizeof(kOom) - 1;
  agent.Close(1, bytes + 1000, 601 + 20);
  const Replay replay = ReplayOf(agent.batches);
  EXPECT_EQ(replay.report.root().line(), 601);
  EXPECT_EQ(replay.report.root().byte_offset(), static_cast<int64_t>(bytes - (sizeof(kOom) - 1)));
  ASSERT_EQ(replay.report.completeness().sources_size(), 1);
  EXPECT_EQ(replay.report.completeness().sources(0).lines(), 621);
  EXPECT_EQ(replay.report.completeness().sources(0).bytes(), static_cast<int64_t>(bytes + 1000));
}

TEST(Replay, ANumberBelongsToItsSpool) {
  Agent before("n02", "aa"), after("n02", "bb");  // a new spool of the same host
  before.Open(1, "rank0.log");
  before.Send(1, 0, 1, "[rank0]: iter 1: loss 2.5\n");
  after.Open(1, "rank1.log");
  after.Send(1, 0, 1, kOom);
  const Replay replay = ReplayOf(Join({before, after}));
  EXPECT_EQ(replay.report.completeness().sources_size(), 2);
  EXPECT_EQ(replay.report.root().source(), "n02/rank1.log");
}

TEST(Replay, SaysWhatIsMissing) {
  Agent agent("n01", "aa");
  agent.Send(9, 0, 1, "of a source that nobody opened\n");
  v1::Gap* gap = agent.Add()->mutable_gap();
  gap->set_reason("the spool was full");
  gap->set_records(5);
  gap->set_bytes(300);
  v1::JobOpened* opened = agent.Add()->mutable_job_opened();
  opened->add_hosts("n01");
  opened->add_hosts("n05");
  agent.Open(1, "rank0.log");
  agent.Close(1, 0, 0);
  const Replay replay = ReplayOf(agent.batches, 2);
  const auto& problems = replay.report.completeness().input_problems();
  for (const char* text : {"n01 left out 5 records with 300 bytes: the spool was full.", "n05 belongs to the job and has sent nothing.",
                           "1 pieces of sources arrived whose names were lost.", "2 batches of the recording are damaged."}) {
    EXPECT_EQ(std::count(problems.begin(), problems.end(), text), 1) << text;
  }
  EXPECT_FALSE(replay.all_closed);  // n05 may still come
}

TEST(Replay, StatesOfAJobWithoutAFault) {
  Agent agent("n01", "aa");
  EXPECT_EQ(ReplayOf({}).report.state().state(), "running");
  agent.Open(1, "rank0.log");
  agent.Send(1, 0, 1, "[rank0]: iter 1: loss 2.5\n");
  EXPECT_EQ(ReplayOf(agent.batches).report.state().state(), "running");
  agent.Add()->mutable_job_closed()->set_exit_code(0);
  EXPECT_EQ(ReplayOf(agent.batches).report.state().state(), "ended");
  EXPECT_TRUE(ReplayOf(agent.batches).job_closed);
  agent.Add()->mutable_job_closed()->set_exit_code(1);
  EXPECT_EQ(ReplayOf(agent.batches).report.state().state(), "failed");
}

TEST(Replay, RecordsOfACollectorAreDecoded) {
  Agent agent("n01", "aa");
  agent.Open(1, "rank1.log");
  const std::string text(kOom, sizeof(kOom) - 2);
  agent.Send(1, 0, 1, "{\"log\":\"" + text + "\\n\",\"stream\":\"stderr\",\"time\":\"2026-01-02T03:04:05Z\"}\n");
  EXPECT_EQ(ReplayOf(agent.batches).report.initiator().rank(), 1);
}

TEST(Replay, BytesThatAreNoTextAreCounted) {
  Agent agent("n01", "aa");
  agent.Open(1, "core");
  agent.Send(1, 0, 1, std::string("\x7f" "ELF\x01\x02\x03\x04\x05\x06\x07\x00\x01\x02\x03\x04", 16));
  const auto report = ReplayOf(agent.batches).report;
  ASSERT_EQ(report.completeness().input_problems_size(), 1);
  EXPECT_EQ(report.completeness().input_problems(0), "1 sources are not text and were not read.");
}

TEST(Replay, PlacesThatNoLogHasAreLeftOutAndSaid) {
  Agent agent("n01", "s");
  agent.Open(1, "n01.log");
  agent.Send(1, 0, 1, kOom);
  agent.Send(1, UINT64_MAX - 10, 2, "wraps round: no sum of places may\n");
  agent.Send(1, 1000, UINT64_MAX, "x\n");
  agent.Close(1, UINT64_MAX, UINT64_MAX);
  const Replay replay = ReplayOf(agent.batches);
  EXPECT_EQ(replay.report.verdict(), "named");
  const auto& problems = replay.report.completeness().input_problems();
  EXPECT_EQ(std::count(problems.begin(), problems.end(), "3 records are about places that no log has, and were left out."), 1);
}

}  // namespace
}  // namespace firstfault
