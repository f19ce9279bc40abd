// Ten thousand messages of somebody who means harm, over real gRPC: they change nothing of another job, are counted one
// by one, and cost no memory that stays.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "correlate/text.h"
#include "correlate/version.h"
#include "proto/ingest.pb.h"
#include "tests/e2e/programs.h"

namespace firstfault::e2e {
namespace {

constexpr int kMessages = 10'000;
constexpr int kLargeMessages = 10;  // of 4 MiB and a byte
constexpr size_t kMessageBytesMax = 4 << 20;
constexpr uint64_t kLinesMax = 1ULL << 31;  // of a source, as a coordinator believes it
// What gRPC's own buffers and the allocator keep after a burst of large messages; a leak of each would be far more.
#ifdef FIRSTFAULT_SANITIZED
constexpr int64_t kGrowthMaxKib = 4 << 20;  // a sanitizer keeps what was freed
#else
constexpr int64_t kGrowthMaxKib = 96 << 10;
#endif

// One Ingest stream of raw bytes.
grpc::Status Stream(grpc::GenericStub* stub, const std::string& token, const std::vector<std::string>& messages) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  grpc::CompletionQueue queue;
  const auto call = stub->PrepareCall(&context, "/firstfault.v1.Ingest/Stream", &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  bool open = wait();
  for (const std::string& message : messages) {
    if (!open) break;
    const grpc::Slice slice(message);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    open = wait();
  }
  if (open) {
    call->WritesDone(nullptr);
    wait();
  }
  grpc::ByteBuffer reply;
  do {
    call->Read(&reply, nullptr);
  } while (wait());
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return status;
}

std::string Hello(const std::string& host, const std::string& spool) {
  v1::AgentMessage message;
  message.mutable_hello()->set_host(host);
  message.mutable_hello()->set_spool_id(spool);
  message.mutable_hello()->set_version(kVersion);
  return message.SerializeAsString();
}

v1::AgentMessage Batch(uint64_t sequence, const std::string& job) {
  v1::AgentMessage message;
  message.mutable_batch()->set_sequence(sequence);
  message.mutable_batch()->set_job(job);
  return message;
}

void AddSpan(v1::Batch* batch, uint32_t source, uint64_t offset, uint64_t line, const std::string& raw) {
  v1::Span* span = batch->add_record()->mutable_span();
  span->set_source(source);
  span->set_byte_offset(offset);
  span->set_first_line(line);
  span->set_raw(raw);
  span->set_reason(v1::Span::MATCH);
}

std::string Failure(const std::string& job) {
  v1::AgentMessage message = Batch(1, job);
  v1::SourceOpened* opened = message.mutable_batch()->add_record()->mutable_source_opened();
  opened->set_source(1);
  opened->set_path("n01/rank1.log");
  AddSpan(message.mutable_batch(), 1, 0, 1, "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB.\n");
  return message.SerializeAsString();
}

// Well-formed nonsense about a job of its own: everything that a reader might believe. `most`: the largest place in a
// source that it names.
std::string Nonsense(uint64_t sequence, const std::string& job, std::mt19937* random, uint64_t most) {
  v1::AgentMessage message = Batch(sequence, job);
  v1::Batch* batch = message.mutable_batch();
  constexpr uint64_t kEdges[] = {0, 1, 63, 1ULL << 31, 1ULL << 32, 1ULL << 40, 1ULL << 62, 1ULL << 63, std::numeric_limits<uint64_t>::max()};
  const auto edge = [&] { return kEdges[(*random)() % std::size(kEdges)]; };
  const auto place = [&] { return std::min(edge(), most); };
  AddSpan(batch, static_cast<uint32_t>((*random)() % 4), place(), place(), std::string((*random)() % 200, '\n') + "[rank7]: NCCL WARN\n");
  v1::SourceOpened* opened = batch->add_record()->mutable_source_opened();
  opened->set_source(static_cast<uint32_t>((*random)() % 4));
  opened->set_path((*random)() % 2 != 0 ? "../../victim/rank1.log" : std::string((*random)() % 5000, '/'));
  AddSpan(batch, opened->source(), place(), place(), std::string((*random)() % 300, static_cast<char>((*random)())));
  v1::SourceClosed* closed = batch->add_record()->mutable_source_closed();
  closed->set_source(static_cast<uint32_t>((*random)() % 4));
  closed->set_bytes(place());
  closed->set_lines(place());
  batch->add_record()->mutable_rank_registered()->set_rank(static_cast<int32_t>(edge()));
  v1::StepMark* step = batch->add_record()->mutable_step_mark();
  step->set_rank(static_cast<int32_t>(edge()));
  step->set_step(static_cast<int64_t>(edge()));
  batch->add_record()->mutable_gap()->set_records(edge());
  batch->add_record()->mutable_job_opened()->set_world_size(static_cast<int32_t>(edge()));
  batch->add_record()->mutable_process_exit()->set_pid(static_cast<int64_t>(edge()));
  batch->add_record();
  return message.SerializeAsString();
}

class HostileTest : public testing::Test {
 protected:
  HostileTest() { EXPECT_EQ(Shell(Cat(FIRSTFAULT_BINARY, " doctor --make-certs ", certs_)).code, 0); }

  std::string Token(const std::string& scope) const {
    const std::string out = Shell(Cat(FIRSTFAULT_BINARY, " doctor --make-token ", scope, " --token-secret ", certs_, "/token.secret")).out;
    return out.substr(0, out.find('\n'));
  }
  // Of /metrics, by the label.
  std::map<std::string, int64_t> Refused(int port) const {
    httplib::Client client("127.0.0.1", port);
    const auto reply = client.Get("/metrics", httplib::Headers{{"Authorization", "Bearer " + Token("read")}});
    std::map<std::string, int64_t> out;
    if (!reply) return out;
    constexpr std::string_view kStart = "firstfault_refused_total{reason=\"";
    for (const std::string_view line : Split(reply->body, '\n')) {
      if (!line.starts_with(kStart)) continue;
      const std::string_view rest = line.substr(kStart.size());
      out[std::string(rest.substr(0, rest.find('"')))] = ParseNumber<int64_t>(rest.substr(rest.rfind(' ') + 1)).value_or(-1);
    }
    return out;
  }
  static int64_t ResidentKib(pid_t pid) {
    std::ifstream in(Cat("/proc/", pid, "/status"));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    }
    return -1;
  }

  const Scratch scratch_;
  const std::string certs_ = scratch_.path() / "certs";
};

TEST_F(HostileTest, TenThousandMessagesChangeNothingAndAreCounted) {
  Coordinator coordinator(scratch_.path() / "data", 0, "", {"--token-secret", certs_ + "/token.secret", "--http", "127.0.0.1:0"});
  grpc::GenericStub stub(grpc::CreateChannel(coordinator.address(), grpc::InsecureChannelCredentials()));
  ASSERT_TRUE(Stream(&stub, Token("job:victim"), {Hello("n01", "the victim's"), Failure("victim")}).ok());
  const std::string ask = Cat("FIRSTFAULT_TOKEN=", Token("read"), " ", FIRSTFAULT_BINARY, " ");
  const std::string why = Cat(ask, "why victim --json --coordinator ", coordinator.address());
  const Result before = Shell(why);
  ASSERT_EQ(before.code, 10) << before.out;

  std::mt19937 random(20260301);
  const std::string token = Token("job:own"), hello = Hello("n66", "spool");
  const auto bytes = [&](size_t count) {
    std::string out(count, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  struct Kind {
    const char* what;
    const char* counted_as;  // "": let in, and nobody else's business
    std::function<grpc::Status()> send;
  };
  uint64_t sequence = 1;
  const Kind kinds[] = {
      // A first byte that no field can have.
      {"random bytes", "message", [&] { return Stream(&stub, token, {"\x07" + bytes(random() % 2000)}); }},
      {"random bytes behind a hello", "message", [&] { return Stream(&stub, token, {hello, "\x07" + bytes(random() % 2000)}); }},
      {"half a message", "message",
       [&] {
         const std::string whole = Nonsense(1, "own", &random, kLinesMax);
         return Stream(&stub, token, {hello, whole.substr(0, whole.size() / 2)});
       }},
      {"no token", "token", [&] { return Stream(&stub, "", {hello}); }},
      {"a made-up token", "token", [&] { return Stream(&stub, Cat("job:victim.", std::string(64, '0')), {hello}); }},
      {"another's job under a right token", "token", [&] { return Stream(&stub, "job:victim" + token.substr(token.rfind('.')), {hello}); }},
      {"a batch of another job", "job", [&] { return Stream(&stub, token, {hello, Failure("victim")}); }},
      {"a batch before the hello", "protocol", [&] { return Stream(&stub, token, {Failure("own")}); }},
      {"two hellos", "protocol", [&] { return Stream(&stub, token, {hello, hello}); }},
      {"no host", "protocol", [&] { return Stream(&stub, token, {Hello("", "spool")}); }},
      {"a long name", "protocol", [&] { return Stream(&stub, token, {Hello("n66", std::string(100'000, 's'))}); }},
      {"an empty message", "protocol", [&] { return Stream(&stub, token, {""}); }},
      {"sequence 0", "batch", [&] { return Stream(&stub, token, {hello, Batch(0, "own").SerializeAsString()}); }},
      {"no job", "batch", [&] { return Stream(&stub, token, {hello, Batch(1, "").SerializeAsString()}); }},
      {"a long job", "batch", [&] { return Stream(&stub, token, {hello, Batch(1, std::string(1000, 'j')).SerializeAsString()}); }},
      {"forged sources, ranks and numbers in its own job", "", [&] { return Stream(&stub, token, {hello, Nonsense(sequence++, "own", &random, kLinesMax)}); }},
      {"places that no log has", "batch",
       [&] {
         v1::AgentMessage message = Batch(1, "own");
         AddSpan(message.mutable_batch(), 1, std::numeric_limits<uint64_t>::max() - random() % 1000, 1, "x\n");
         return Stream(&stub, token, {hello, message.SerializeAsString()});
       }},
  };
  std::map<std::string, int64_t> expected;
  int64_t resident_kib = 0;
  int sent = 0;
  for (; sent < kMessages - kLargeMessages; ++sent) {
    const Kind& kind = kinds[static_cast<size_t>(sent) % std::size(kinds)];
    const grpc::Status status = kind.send();
    const bool stays = *kind.counted_as == '\0' || std::string_view(kind.counted_as) == "batch";
    ASSERT_EQ(status.ok(), stays) << kind.what << ": " << status.error_message();
    if (*kind.counted_as != '\0') ++expected[kind.counted_as];
    if (sent == kMessages / 10) resident_kib = ResidentKib(coordinator.pid());  // its pools are warm
  }
  // The last number there is, and what comes behind it.
  EXPECT_TRUE(Stream(&stub, token, {hello, Nonsense(std::numeric_limits<uint64_t>::max(), "own", &random, kLinesMax), Nonsense(1, "own", &random, kLinesMax)}).ok());
  for (; sent < kMessages; ++sent) {
    EXPECT_EQ(Stream(&stub, token, {hello, bytes(kMessageBytesMax + 1)}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    ++expected["message"];
  }
  // Beyond twice the limit gRPC does not even read it.
  EXPECT_EQ(Stream(&stub, token, {hello, bytes(3 * kMessageBytesMax)}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  const std::map<std::string, int64_t> refused = Refused(coordinator.http_port());
  for (const auto& [reason, count] : expected) EXPECT_EQ(refused.count(reason) == 0 ? -1 : refused.at(reason), count) << reason;
  const int64_t grown_kib = ResidentKib(coordinator.pid()) - resident_kib;
  EXPECT_LT(grown_kib, kGrowthMaxKib);
  RecordProperty("grown_kib", std::to_string(grown_kib));

  // The other job stands as it did, and takes more; its own is answered, whatever is said of it.
  const Result after = Shell(why);
  EXPECT_EQ(after.code, before.code);
  EXPECT_TRUE(after.out == before.out) << after.out;
  const Result jobs = Shell(Cat(ask, "jobs --coordinator ", coordinator.address()));
  EXPECT_EQ(jobs.code, 0) << jobs.out;
  EXPECT_EQ(std::count(jobs.out.begin(), jobs.out.end(), '\n'), 3) << "two jobs and their title\n" << jobs.out;
  const Result own = Shell(Cat(ask, "why own --coordinator ", coordinator.address()));
  EXPECT_TRUE(own.code == 0 || (own.code >= 10 && own.code <= 20)) << own.code << own.out;
  EXPECT_LT(ResidentKib(coordinator.pid()) - resident_kib, 2 * kGrowthMaxKib);
  v1::AgentMessage more = Batch(2, "victim");
  more.mutable_batch()->add_record()->mutable_job_closed()->set_exit_code(1);
  EXPECT_TRUE(Stream(&stub, Token("job:victim"), {Hello("n01", "the victim's"), more.SerializeAsString()}).ok());
  EXPECT_EQ(coordinator.End(SIGTERM), 0);
}

}  // namespace
}  // namespace firstfault::e2e
