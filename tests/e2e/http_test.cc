// A real coordinator asked over HTTP, and what gRPC's own tools ask: health and reflection.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "correlate/text.h"
#include "correlate/version.h"
#include "proto/ingest.grpc.pb.h"
#include "proto/query.pb.h"
#include "tests/e2e/programs.h"

namespace firstfault::e2e {
namespace {

// One batch of a failed rank, from an agent of another version.
void SendFailure(const std::string& address, const std::string& job) {
  const auto stub = v1::Ingest::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Stream(&context);
  v1::AgentMessage message;
  message.mutable_hello()->set_host("n01");
  message.mutable_hello()->set_spool_id("s");
  message.mutable_hello()->set_version("0.0.9");
  ASSERT_TRUE(stream->Write(message));
  v1::Batch* batch = message.mutable_batch();
  batch->set_sequence(1);
  batch->set_job(job);
  v1::SourceOpened* opened = batch->add_record()->mutable_source_opened();
  opened->set_source(1);
  opened->set_path("n01/rank1.log");
  v1::Span* span = batch->add_record()->mutable_span();
  span->set_source(1);
  span->set_first_line(1);
  span->set_raw("[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB.\n");
  span->set_reason(v1::Span::MATCH);
  ASSERT_TRUE(stream->Write(message));
  stream->WritesDone();
  bool durable = false;
  for (v1::CoordinatorMessage reply; stream->Read(&reply);) durable |= reply.ack().sequence() == 1;
  EXPECT_TRUE(durable);
  EXPECT_TRUE(stream->Finish().ok());
}

class HttpTest : public testing::Test {
 protected:
  // OpenSSL writes without MSG_NOSIGNAL, and a server may turn a client away while it still writes.
  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }
  std::string Path(const std::string& name) const { return (scratch_.path() / name).string(); }
  static std::vector<std::string> WithHttp(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--http", "127.0.0.1:0"});
    return more;
  }

  const Scratch scratch_;
};

void ExpectReply(const httplib::Result& result, int status, const std::string& words) {
  ASSERT_TRUE(result) << httplib::to_string(result.error());
  EXPECT_EQ(result->status, status) << result->body;
  EXPECT_NE(result->body.find(words), std::string::npos) << "'" << words << "' is not in " << result->body;
}

TEST_F(HttpTest, AnswersAsTheQueryServiceDoes) {
  Coordinator coordinator(Path("data"), 0, "", WithHttp());
  SendFailure(coordinator.address(), "a/b");
  httplib::Client client("127.0.0.1", coordinator.http_port());
  ExpectReply(client.Get("/healthz"), 200, "ok");
  ExpectReply(client.Get("/v1/jobs"), 200, "\"job\":\"a/b\"");
  const auto why = client.Get("/v1/why?job=a%2Fb");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->get_header_value("Content-Type"), "application/json");
  v1::WhyReply reply;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(why->body, &reply).ok()) << why->body;
  EXPECT_EQ(reply.report().verdict(), "named");
  EXPECT_EQ(reply.report().initiator().rank(), 1);
  ExpectReply(client.Get("/v1/why?job=none"), 404, "\"error\"");
  ExpectReply(client.Get("/v1/why?jobs=a"), 400, "WhyRequest");
  ExpectReply(client.Get("/v1/jobs?limit=many"), 400, "JobsRequest");
  ExpectReply(client.Get("/v1/jobs?limit=0"), 200, "\"job\":[]");
  ExpectReply(client.Get("/v1/why?job=a%2Fb&wait=for-ever"), 400, "wait is provisional");
  ExpectReply(client.Get("/"), 404, "/v1/why");
  ExpectReply(client.Post("/v1/jobs", "{}", "application/json"), 404, "GET");
  const auto large = client.Post("/v1/jobs", std::string(1 << 20, 'x'), "application/json");
  EXPECT_TRUE(!large || large->status == 413) << large->status;
  ExpectReply(client.Get("/metrics"), 200, "\nfirstfault_jobs 1\n");
  ExpectReply(client.Get("/metrics"), 200, "\nfirstfault_batches_total 1\n");
  ExpectReply(client.Get("/metrics"), 200, Cat("firstfault_build_info{version=\"", kVersion, "\"} 1"));
  const Result jobs = Shell(Cat(FIRSTFAULT_BINARY, " jobs --coordinator ", coordinator.address()));
  EXPECT_NE(jobs.out.find(Cat("Job a/b has agents of version 0.0.9; the coordinator is ", kVersion)), std::string::npos) << jobs.out;
}

TEST_F(HttpTest, AStopAnswersWhoeverWaits) {
  Coordinator coordinator(Path("data"), 0, "", WithHttp());
  const int port = coordinator.http_port();
  std::vector<std::future<int>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::async(std::launch::async, [port] {
      httplib::Client client("127.0.0.1", port);
      client.set_read_timeout(30);
      const auto result = client.Get("/v1/why?job=none&wait=final");
      return result ? result->status : -1;
    }));
  }
  httplib::Client client("127.0.0.1", port);
  // Once four wait, the fifth is told so at once, and what does not wait is served.
  int status = 0;
  for (int i = 0; i < 200 && status != 429; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto result = client.Get("/v1/why?job=none&wait=final&wait_ns=1");
    status = result ? result->status : -1;
  }
  EXPECT_EQ(status, 429);
  ExpectReply(client.Get("/healthz"), 200, "ok");
  EXPECT_EQ(coordinator.End(SIGTERM), 0);
  for (auto& one : waiting) EXPECT_EQ(one.get(), 404);
}

TEST_F(HttpTest, TokensAndCertificatesHoldHereToo) {
  const std::string certs = Path("certs"), make = Cat(FIRSTFAULT_BINARY, " doctor --make-certs ", certs);
  ASSERT_EQ(Shell(make).code, 0);
  Coordinator coordinator(Path("data"), 0, "", WithHttp({"--tls-cert", certs + "/server.crt", "--tls-key", certs + "/server.key", "--tls-ca", certs + "/ca.crt",
                                                         "--token-secret", certs + "/token.secret"}));
  const auto token = [&](const std::string& scope) {
    const std::string out = Shell(Cat(FIRSTFAULT_BINARY, " doctor --make-token ", scope, " --token-secret ", certs, "/token.secret")).out;
    return httplib::Headers{{"Authorization", "Bearer " + out.substr(0, out.find('\n'))}};
  };
  httplib::SSLClient client("localhost", coordinator.http_port(), certs + "/client.crt", certs + "/client.key");
  client.set_ca_cert_path(certs + "/ca.crt");
  ExpectReply(client.Get("/healthz"), 200, "ok");
  ExpectReply(client.Get("/v1/jobs"), 401, "asks for a token");
  ExpectReply(client.Get("/metrics"), 401, "asks for a token");
  ExpectReply(client.Get("/v1/jobs", token("job:a")), 403, "is for job:a");
  ExpectReply(client.Get("/v1/why?job=a", token("job:a")), 404, "nothing is recorded");
  ExpectReply(client.Get("/v1/why?job=b", token("job:a")), 403, "is for job:a");
  ExpectReply(client.Get("/v1/jobs", token("read")), 200, "job");
  ExpectReply(client.Get("/metrics", token("read")), 200, "firstfault_refused_total{reason=\"job\"} 2");
  httplib::SSLClient stranger("localhost", coordinator.http_port());
  stranger.set_ca_cert_path(certs + "/ca.crt");
  EXPECT_FALSE(stranger.Get("/healthz"));
  httplib::Client plain("localhost", coordinator.http_port());
  EXPECT_FALSE(plain.Get("/healthz"));
}

TEST_F(HttpTest, OnlyBeyondThisMachineWithTlsOrInsecure) {
  const Result result = Shell(Cat("timeout 1 ", FIRSTFAULT_COORDINATOR_BINARY, " --data-dir ", Path("data"), " --listen 127.0.0.1:0 --http 0.0.0.0:0"));
  EXPECT_EQ(result.code, 64);
  EXPECT_NE(result.out.find("--http: 0.0.0.0:0 is beyond this machine"), std::string::npos) << result.out;
}

// Calls a method with raw bytes: its messages are not among ours.
std::string CallRaw(const std::string& address, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  EXPECT_TRUE(wait());
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer reply;
  call->Read(&reply, nullptr);
  EXPECT_TRUE(wait()) << method;
  std::vector<grpc::Slice> slices;
  reply.Dump(&slices);
  std::string out;
  for (const grpc::Slice& part : slices) out.append(reinterpret_cast<const char*>(part.begin()), part.size());
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return out;
}

TEST_F(HttpTest, HealthAndReflectionAreThere) {
  Coordinator coordinator(Path("data"));
  EXPECT_EQ(CallRaw(coordinator.address(), "/grpc.health.v1.Health/Check", ""), std::string("\x08\x01")) << "SERVING";
  // list_services: field 7 of the request.
  const std::string services = CallRaw(coordinator.address(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x01*"));
  EXPECT_NE(services.find("firstfault.v1.Query"), std::string::npos);
  EXPECT_NE(services.find("firstfault.v1.Ingest"), std::string::npos);
}

}  // namespace
}  // namespace firstfault::e2e
