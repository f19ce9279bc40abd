#include "coordinator/http_server.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/bearer.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

namespace json = google::protobuf::util;

constexpr int kReadTimeoutS = 5;
constexpr char kJson[] = "application/json", kText[] = "text/plain; version=0.0.4";

struct StatusRow {
  absl::StatusCode status;
  int http;
};
constexpr StatusRow kStatusRows[] = {
    {absl::StatusCode::kInvalidArgument, 400}, {absl::StatusCode::kUnauthenticated, 401},   {absl::StatusCode::kPermissionDenied, 403},
    {absl::StatusCode::kNotFound, 404},        {absl::StatusCode::kResourceExhausted, 429},
};
constexpr int kHttpInternalError = 500;

// A pool that lets the caller wait where too much waits already: connections stay in the kernel's backlog.
class BoundedPool final : public httplib::TaskQueue {
 public:
  BoundedPool() {
    for (size_t i = 0; i < kHttpThreads; ++i) threads_.emplace_back([this] { Loop(); });
  }
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return tasks_.size() < kHttpQueueMax; });
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Loop() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      room_.notify_one();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

void Fail(const absl::Status& status, httplib::Response* response) {
  response->status = kHttpInternalError;
  for (const StatusRow& row : kStatusRows) {
    if (row.status == status.code()) response->status = row.http;
  }
  google::protobuf::Struct body;
  (*body.mutable_fields())["error"].set_string_value(std::string(status.message()));
  std::string text;
  if (!json::MessageToJsonString(body, &text).ok()) text = "{}";
  response->set_content(Cat(text, "\n"), kJson);
}

template <typename Reply>
void Answer(const absl::StatusOr<Reply>& reply, httplib::Response* response) {
  if (!reply.ok()) return Fail(reply.status(), response);
  json::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!json::MessageToJsonString(*reply, &text, options).ok()) return Fail(absl::InternalError("the answer is no JSON"), response);
  response->set_content(Cat(text, "\n"), kJson);
}

// Parameters are fields: in protobuf's JSON mapping numbers may be text.
template <typename Request>
absl::StatusOr<Request> RequestOf(const httplib::Request& http) {
  google::protobuf::Struct fields;
  for (const auto& [name, value] : http.params) (*fields.mutable_fields())[name].set_string_value(value);
  std::string text;
  Request request;
  if (!json::MessageToJsonString(fields, &text).ok() || !json::JsonStringToMessage(text, &request).ok()) {
    return absl::InvalidArgumentError(Cat("the parameters are not those of ", Request::descriptor()->name(), " in proto/query.proto"));
  }
  return request;
}

Caller CallerOf(const httplib::Request& http) {
  Caller caller;  // which host it is does not matter: nobody writes here
  caller.token = BearerToken(http.get_header_value("Authorization"));
  caller.address = http.remote_addr;
  return caller;
}

template <typename Reply>
auto Keep(const std::shared_ptr<std::promise<absl::StatusOr<Reply>>>& promise) {
  return [promise](absl::StatusOr<Reply> reply) { promise->set_value(std::move(reply)); };
}

}  // namespace

struct HttpServer::Impl {
  Questions* questions;
  std::function<std::string()> metrics;
  std::unique_ptr<httplib::Server> server;
  std::thread thread;
  int port = 0;
  std::atomic<size_t> waiting = 0;

  void Jobs(const httplib::Request& http, httplib::Response& response) const {
    const auto request = RequestOf<v1::JobsRequest>(http);
    if (!request.ok()) return Fail(request.status(), &response);
    const auto promise = std::make_shared<std::promise<absl::StatusOr<v1::JobsReply>>>();
    questions->Jobs(CallerOf(http), *request, Keep(promise));
    Answer(promise->get_future().get(), &response);
  }

  void Why(const httplib::Request& http, httplib::Response& response) {
    auto request = RequestOf<v1::WhyRequest>(http);
    if (!request.ok()) return Fail(request.status(), &response);
    const bool waits = !request->wait().empty();
    if (request->wait_ns() > kHttpWaitMaxNs) request->set_wait_ns(kHttpWaitMaxNs);
    if (waits && waiting.fetch_add(1) >= kHttpThreads / 2) {
      --waiting;
      return Fail(absl::ResourceExhaustedError("too many wait for a job; ask without wait, or over gRPC"), &response);
    }
    const auto promise = std::make_shared<std::promise<absl::StatusOr<v1::WhyReply>>>();
    questions->Why(CallerOf(http), *request, [] { return false; }, Keep(promise));
    Answer(promise->get_future().get(), &response);
    if (waits) --waiting;
  }

  void Metrics(const httplib::Request& http, httplib::Response& response) const {
    if (const absl::Status status = questions->MayAskAll(CallerOf(http)); !status.ok()) return Fail(status, &response);
    response.set_content(metrics(), kText);
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address, const CredentialFiles& files, Questions* questions,
                                                              std::function<std::string()> metrics) {
  auto impl = std::make_unique<Impl>();
  impl->questions = questions;
  impl->metrics = std::move(metrics);
  if (files.cert.empty()) {
    impl->server = std::make_unique<httplib::Server>();
  } else {
    impl->server = std::make_unique<httplib::SSLServer>(files.cert.c_str(), files.key.c_str(), files.ca.c_str());
  }
  httplib::Server& server = *impl->server;
  if (!server.is_valid()) return absl::UnavailableError("--http: --tls-cert, --tls-key and --tls-ca do not belong together");
  server.new_task_queue = [] { return new BoundedPool; };
  server.set_payload_max_length(kHttpBodyBytesMax);
  server.set_read_timeout(kReadTimeoutS);
  server.set_keep_alive_timeout(kReadTimeoutS);
  server.Get("/healthz", [](const httplib::Request&, httplib::Response& response) { response.set_content("ok\n", "text/plain"); });
  Impl* const self = impl.get();
  server.Get("/metrics", [self](const httplib::Request& http, httplib::Response& response) { self->Metrics(http, response); });
  server.Get("/v1/jobs", [self](const httplib::Request& http, httplib::Response& response) { self->Jobs(http, response); });
  server.Get("/v1/why", [self](const httplib::Request& http, httplib::Response& response) { self->Why(http, response); });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) response.set_content(Cat("{\"error\":\"there are /v1/jobs, /v1/why, /metrics and /healthz, each for GET\"}\n"), kJson);
  });
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const int port = ParseNumber<uint16_t>(std::string_view(address).substr(colon + 1)).value_or(0);
  impl->port = port != 0 && server.bind_to_port(host, port) ? port : port == 0 ? server.bind_to_any_port(host) : -1;
  if (impl->port <= 0) return absl::UnavailableError(Cat("cannot listen on ", address));
  impl->thread = std::thread([self] { self->server->listen_after_bind(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  // A stop before its loop runs would be lost.
  while (!impl_->server->is_running()) std::this_thread::yield();
  impl_->server->stop();
  impl_->thread.join();
}

int HttpServer::port() const { return impl_->port; }

}  // namespace firstfault
