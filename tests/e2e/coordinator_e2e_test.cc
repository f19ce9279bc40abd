// A real coordinator and the real command over loopback; the agents are clients of this test.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "proto/ingest.grpc.pb.h"
#include "proto/query.grpc.pb.h"
#include "tests/e2e/programs.h"

namespace firstfault {
namespace {

namespace fs = std::filesystem;

using e2e::Coordinator;
using e2e::ParseReport;
using e2e::Result;
using e2e::Shell;
using e2e::Why;

// What one host has to say, batch by batch.
class Agent {
 public:
  Agent(std::string host, std::string spool) : host_(std::move(host)), spool_(std::move(spool)) {}

  v1::Record* Add() {
    v1::Batch& batch = batches_.emplace_back();
    batch.set_sequence(batches_.size());
    batch.set_job("run-7");
    return batch.add_record();
  }

  // The whole file as contiguous spans.
  void AddFile(uint32_t source, const std::string& path, const std::string& bytes) {
    v1::SourceOpened* opened = Add()->mutable_source_opened();
    opened->set_source(source);
    opened->set_path(path);
    opened->set_complete(true);
    uint64_t line = 1;
    for (size_t at = 0; at < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', std::min(at + 3000, bytes.size() - 1)), bytes.size() - 1) + 1;
      v1::Span* span = Add()->mutable_span();
      span->set_source(source);
      span->set_byte_offset(at);
      span->set_first_line(line);
      span->set_raw(bytes.substr(at, end - at));
      span->set_reason(v1::Span::ALL);
      line += static_cast<uint64_t>(std::count(span->raw().begin(), span->raw().end(), '\n'));
      at = end;
    }
    v1::SourceClosed* closed = Add()->mutable_source_closed();
    closed->set_source(source);
    closed->set_bytes(bytes.size());
    closed->set_lines(line - 1);
  }

  size_t size() const { return batches_.size(); }

  // Sends what the coordinator lacks up to `last`, and `again` batches before that. Returns where the coordinator
  // said to go on; waits for the acknowledgement of `last` where asked to.
  uint64_t Send(const std::string& address, uint64_t last, bool wait, uint64_t again = 0) const {
    const auto stub = v1::Ingest::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const auto stream = stub->Stream(&context);
    v1::AgentMessage message;
    message.mutable_hello()->set_host(host_);
    message.mutable_hello()->set_spool_id(spool_);
    EXPECT_TRUE(stream->Write(message));
    v1::CoordinatorMessage reply;
    EXPECT_TRUE(stream->Read(&reply));
    EXPECT_TRUE(reply.has_welcome());
    const uint64_t next = reply.welcome().next_sequence();
    for (uint64_t i = next > again ? next - again : 1; i <= last; ++i) {
      *message.mutable_batch() = batches_[i - 1];
      EXPECT_TRUE(stream->Write(message));
    }
    if (wait) {
      uint64_t acknowledged = next - 1;
      stream->WritesDone();
      while (stream->Read(&reply)) acknowledged = std::max(acknowledged, reply.ack().sequence());
      EXPECT_GE(acknowledged, last);
      EXPECT_TRUE(stream->Finish().ok());
    } else {
      context.TryCancel();
      stream->Finish();
    }
    return next;
  }

 private:
  std::string host_, spool_;
  std::vector<v1::Batch> batches_;
};

class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    // Four hosts, one of which ran out of memory while another clock is minutes off.
    const fs::path golden = fs::path(FIRSTFAULT_SOURCE_DIR) / "tests/golden/113-cuda-oom-hidden-by-clock-skew";
    for (const auto& entry : fs::directory_iterator(golden)) {
      const fs::path file = entry.path().filename();
      if (file == "expected.json") continue;
      const std::string host = file.stem();
      fs::create_directories(folder_ / "logs" / host);
      fs::copy(entry.path(), folder_ / "logs" / host / file);
      std::ifstream in(entry.path(), std::ios::binary);
      agents_.emplace_back(host, "spool-of-" + host);
      agents_.back().AddFile(1, file, {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
    }
    ASSERT_GE(agents_.size(), 2u);
  }
  fs::path data() const { return folder_ / "data"; }

  const e2e::Scratch scratch_;
  const fs::path folder_ = scratch_.path();
  std::vector<Agent> agents_;
};

TEST_F(CoordinatorTest, SaysWhatDiagnoseSays) {
  Coordinator coordinator(data());
  for (const Agent& agent : agents_) EXPECT_EQ(agent.Send(coordinator.address(), agent.size(), true), 1u);
  const Result offline = Shell("cd " + (folder_ / "logs").string() + " && " FIRSTFAULT_BINARY " diagnose --json *");
  const Result online = Why(coordinator.address(), "run-7 --json --wait final");
  EXPECT_EQ(online.code, offline.code);
  const v1::Report expected = ParseReport(offline.out), report = ParseReport(online.out);
  EXPECT_EQ(expected.verdict(), "named");
  EXPECT_EQ(report.verdict(), expected.verdict());
  EXPECT_EQ(report.class_(), expected.class_());
  EXPECT_EQ(report.signature(), expected.signature());
  EXPECT_EQ(report.initiator().rank(), expected.initiator().rank());
  EXPECT_EQ(report.initiator().host(), expected.initiator().host());
  EXPECT_EQ(report.root().source(), expected.root().source());
  EXPECT_EQ(report.root().line(), expected.root().line());
  EXPECT_EQ(report.root().byte_offset(), expected.root().byte_offset());
  EXPECT_EQ(report.root().text(), expected.root().text());
  EXPECT_EQ(report.first_warning().text(), expected.first_warning().text());
  EXPECT_EQ(report.confidence(), expected.confidence());
  EXPECT_EQ(report.state().finality(), "final");

  const Result newest = Why(coordinator.address(), "");
  EXPECT_EQ(newest.code, offline.code);
  EXPECT_TRUE(newest.out.starts_with("Job run-7\n")) << newest.out;
  const Result jobs = Shell("FIRSTFAULT_COORDINATOR=" + coordinator.address() + " " FIRSTFAULT_BINARY " jobs");
  EXPECT_EQ(jobs.code, 0);
  EXPECT_NE(jobs.out.find("run-7  0        failed"), std::string::npos) << jobs.out;
  EXPECT_EQ(Why(coordinator.address(), "nobody").code, 66);
  EXPECT_EQ(coordinator.End(SIGTERM), 0);
}

TEST_F(CoordinatorTest, AKilledCoordinatorGoesOnWhereItAcknowledged) {
  std::string uninterrupted;
  uint64_t batches = 0;
  {
    Coordinator coordinator(folder_ / "other");
    for (const Agent& agent : agents_) agent.Send(coordinator.address(), agent.size(), true);
    uninterrupted = Why(coordinator.address(), "run-7 --json --wait final").out;
  }
  auto coordinator = std::make_unique<Coordinator>(data());
  for (const Agent& agent : agents_) {
    batches += agent.size();
    for (uint64_t at = 2; at < agent.size(); at += 4) {
      agent.Send(coordinator->address(), at, true);
      agent.Send(coordinator->address(), std::min<uint64_t>(at + 2, agent.size()), false);  // may or may not arrive
      coordinator->End(SIGKILL);
      coordinator = std::make_unique<Coordinator>(data());
      const uint64_t next = agent.Send(coordinator->address(), 0, true);
      EXPECT_GT(next, at) << "an acknowledged batch is lost";
      EXPECT_LE(next, at + 3);
    }
    agent.Send(coordinator->address(), agent.size(), true, 3);  // the last ones once more
  }
  EXPECT_EQ(Why(coordinator->address(), "run-7 --json --wait final").out, uninterrupted);
  const auto query = v1::Query::NewStub(grpc::CreateChannel(coordinator->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::JobsReply jobs;
  ASSERT_TRUE(query->Jobs(&context, {}, &jobs).ok());
  ASSERT_EQ(jobs.job_size(), 1);
  EXPECT_EQ(jobs.job(0).records(), batches) << "each batch here has one record";
}

TEST_F(CoordinatorTest, AnswersProbesAndRefusesWhatIsNoProtocol) {
  Coordinator coordinator(data());
  const auto stub = v1::Ingest::NewStub(grpc::CreateChannel(coordinator.address(), grpc::InsecureChannelCredentials()));
  {
    grpc::ClientContext context;
    const auto stream = stub->Stream(&context);
    v1::AgentMessage message;
    v1::CoordinatorMessage reply;
    message.mutable_hello()->set_host("n01");
    message.mutable_hello()->set_spool_id("s");
    stream->Write(message);
    ASSERT_TRUE(stream->Read(&reply));
    message.mutable_clock_probe()->set_number(4);
    stream->Write(message);
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_EQ(reply.clock_reply().number(), 4u);
    EXPECT_GT(reply.clock_reply().received_ns(), 0);
    EXPECT_GE(reply.clock_reply().sent_ns(), reply.clock_reply().received_ns());
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  grpc::ClientContext context;
  const auto stream = stub->Stream(&context);
  v1::AgentMessage message;
  message.mutable_heartbeat();
  stream->Write(message);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(CoordinatorTest, ListensOnThisMachineOnly) {
  const Result beyond = Shell(std::string(FIRSTFAULT_COORDINATOR_BINARY) + " --listen 0.0.0.0:0 --data-dir " + data().string());
  EXPECT_EQ(beyond.code, 64);
  EXPECT_NE(beyond.out.find("beyond this machine"), std::string::npos) << beyond.out;
  EXPECT_EQ(Shell(std::string(FIRSTFAULT_COORDINATOR_BINARY) + " --listen 127.0.0.1:0").code, 64);
}

TEST_F(CoordinatorTest, NobodyThereIs69) {
  std::string address;
  {
    Coordinator coordinator(data());
    address = coordinator.address();
  }
  EXPECT_EQ(Why(address, "run-7").code, 69);
}

}  // namespace
}  // namespace firstfault
