// The agent as a process, against a small coordinator in this one: killed, stopped, restarted, cut off.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "correlate/text.h"
#include "proto/ingest.grpc.pb.h"
#include "tests/unit/agent/temp_folder.h"

namespace firstfault::agent {
namespace {

// Keeps each (spool, sequence) once, as a coordinator must.
class Recording : public v1::Ingest::Service {
 public:
  grpc::Status Stream(grpc::ServerContext*, grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>* stream) override {
    v1::AgentMessage message;
    std::string spool;
    while (stream->Read(&message)) {
      v1::CoordinatorMessage reply;
      {
        const std::lock_guard lock(mutex_);
        if (message.has_hello()) {
          hello_ = message.hello();
          spool = message.hello().spool_id();
          reply.mutable_welcome()->set_next_sequence(last_[spool] + 1);
        } else if (message.has_batch()) {
          const v1::Batch& batch = message.batch();
          if (batch.sequence() > last_[spool]) {
            batches_.push_back(batch);
            last_[spool] = batch.sequence();
          } else {
            ++repeated_;
          }
          reply.mutable_ack()->set_sequence(last_[spool]);
        } else if (message.has_clock_probe()) {
          reply.mutable_clock_reply()->set_number(message.clock_probe().number());
        } else {
          continue;
        }
      }
      stream->Write(reply);
    }
    return grpc::Status::OK;
  }

  std::vector<v1::Batch> batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  v1::Hello hello() {
    const std::lock_guard lock(mutex_);
    return hello_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> last_;
  std::vector<v1::Batch> batches_;
  v1::Hello hello_;
  uint64_t repeated_ = 0;
};

class AgentProcessTest : public testing::Test {
 protected:
  AgentProcessTest() { Listen(0); }
  ~AgentProcessTest() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  void Listen(int port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Cat("127.0.0.1:", port), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&recording_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  pid_t Start(std::vector<std::string> more) {
    std::vector<std::string> words = {FIRSTFAULT_AGENT_BINARY, "--coordinator", Cat("127.0.0.1:", port_), "--spool-dir",
                                      folder_.Path("spool"), "--job", "job", "--log", folder_.Path("*.log"), "--host", "n01"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, FIRSTFAULT_AGENT_BINARY, nullptr, nullptr, arguments.data(), environ), 0);
    return pid;
  }
  static int Wait(pid_t pid, rusage* usage = nullptr) {
    int status = 0;
    rusage mine;
    EXPECT_EQ(wait4(pid, &status, 0, usage == nullptr ? &mine : usage), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // What arrived of the only source, in order of offset; each byte must have come once.
  std::string Text() {
    std::map<uint64_t, std::string> spans;
    for (const v1::Batch& batch : recording_.batches()) {
      for (const v1::Record& record : batch.record()) {
        if (!record.has_span()) continue;
        EXPECT_TRUE(spans.emplace(record.span().byte_offset(), record.span().raw()).second) << record.span().byte_offset();
      }
    }
    std::string out;
    for (const auto& [offset, raw] : spans) {
      EXPECT_EQ(offset, out.size());
      out += raw;
    }
    return out;
  }
  bool SourceClosed() {
    for (const v1::Batch& batch : recording_.batches()) {
      for (const v1::Record& record : batch.record()) {
        if (record.has_source_closed()) return true;
      }
    }
    return false;
  }

  TempFolder folder_;
  Recording recording_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(AgentProcessTest, ShipsOnceAndSaysWhoItIs) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += Cat("line ", i, "\n");
  folder_.Append("a.log", text);
  EXPECT_EQ(Wait(Start({"--ship", "all", "--once", "--attempt", "2"})), 0);
  EXPECT_TRUE(Text() == text);
  EXPECT_TRUE(SourceClosed());
  EXPECT_EQ(recording_.hello().host(), "n01");
  EXPECT_FALSE(recording_.hello().spool_id().empty());
  EXPECT_EQ(recording_.batches().front().job(), "job");
  EXPECT_EQ(recording_.batches().front().attempt(), 2U);
}

TEST_F(AgentProcessTest, ArrivesExactlyOnceHoweverOftenItIsKilled) {
  constexpr int kKills = 12;
  std::mt19937 random(1);
  std::string written;
  int number = 0;
  for (int life = 0; life <= kKills; ++life) {
    const pid_t pid = Start({"--ship", "all"});
    const int steps = 5 + static_cast<int>(random() % 60);
    for (int i = 0; i < steps; ++i) {
      std::string text;
      for (uint32_t line = 0; line < 1 + random() % 100; ++line) text += Cat("line ", ++number, "\n");
      folder_.Append("a.log", text);
      written += text;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(pid, life == kKills ? SIGTERM : SIGKILL);
    const int end = Wait(pid);
    // One that is stopped while it starts has no handler yet.
    EXPECT_TRUE(life == kKills ? end == 0 || end == -SIGTERM : end == -SIGKILL) << end;
  }
  EXPECT_EQ(Wait(Start({"--ship", "all", "--once"})), 0);
  EXPECT_TRUE(Text() == written) << Text().size() << " of " << written.size();
}

TEST_F(AgentProcessTest, OutlivesItsCoordinator) {
  folder_.Append("a.log", "before\n");
  const pid_t pid = Start({"--ship", "all"});
  const auto wait_for = [&](const std::string& text) {
    for (int i = 0; i < 200 && Text() != text; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(Text(), text);
  };
  wait_for("before\n");
  const int port = port_;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  folder_.Append("a.log", "meanwhile\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Listen(port);
  wait_for("before\nmeanwhile\n");
  kill(pid, SIGTERM);
  EXPECT_EQ(Wait(pid), 0);
  EXPECT_TRUE(SourceClosed());
}

TEST_F(AgentProcessTest, StaysSmallOverOneEndlessLine) {
#ifdef FIRSTFAULT_SANITIZED
  GTEST_SKIP() << "a sanitizer's memory is not ours";
#endif
  constexpr int64_t kRssKiBMax = 64 << 10;
  {
    std::ofstream out(folder_.Path("a.log"), std::ios::binary);
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 64; ++i) out << piece;
  }
  for (const char* ship : {"matches", "all"}) {
    rusage usage;
    EXPECT_EQ(Wait(Start({"--ship", ship, "--once", "--attempt", ship[0] == 'm' ? "1" : "2"}), &usage), 0);
    std::printf("--ship %s: %ld KiB resident at most\n", ship, usage.ru_maxrss);
    EXPECT_LE(usage.ru_maxrss, kRssKiBMax);
  }
}

TEST_F(AgentProcessTest, TakesNoUnknownFlag) {
  EXPECT_EQ(Wait(Start({"--no-such-flag"})), 64);
}

}  // namespace
}  // namespace firstfault::agent
