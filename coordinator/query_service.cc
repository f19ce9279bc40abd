#include "coordinator/query_service.h"

#include <chrono>
#include <utility>

#include "coordinator/grpc_status.h"

namespace firstfault {
QueryService::QueryService(Answers* answers, std::function<int64_t()> now_ns)
    : answers_(answers), now_ns_(std::move(now_ns)), thread_([this] { Loop(); }) {}

QueryService::~QueryService() {
  Stop();
  thread_.join();
}

void QueryService::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

grpc::ServerUnaryReactor* QueryService::Jobs(grpc::CallbackServerContext* context, const v1::JobsRequest* request,
                                             v1::JobsReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Ask(reactor, [this, reactor, request, reply](bool) {
    *reply = answers_->Jobs(*request, now_ns_());
    reactor->Finish(grpc::Status::OK);
    return true;
  });
  return reactor;
}

grpc::ServerUnaryReactor* QueryService::Why(grpc::CallbackServerContext* context, const v1::WhyRequest* request,
                                            v1::WhyReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Ask(reactor, [this, context, reactor, request, reply, since_ns = now_ns_()](bool stopping) {
    const int64_t now_ns = now_ns_();
    const bool give_up = stopping || context->IsCancelled();
    auto answer = answers_->Why(*request, now_ns, give_up ? INT64_MAX : now_ns - since_ns);
    if (!answer) return false;
    if (answer->ok()) *reply = **std::move(answer);
    reactor->Finish(ToGrpc(answer->status()));
    return true;
  });
  return reactor;
}

void QueryService::Ask(grpc::ServerUnaryReactor* reactor, Question question) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && count_ < kQuestionsMax) {
      questions_.push_back(std::move(question));
      ++count_;
      asked_ = true;
      wake_.notify_all();
      return;
    }
  }
  reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many questions at a time, or stopping"});
}

void QueryService::Loop() {
  std::list<Question> open;
  for (;;) {
    bool stopping = false;
    {
      std::unique_lock lock(mutex_);
      const auto due = [this] { return asked_ || stopping_; };
      if (open.empty()) {
        wake_.wait(lock, due);
      } else {
        wake_.wait_for(lock, std::chrono::nanoseconds(kLookAgainNs), due);
      }
      asked_ = false;
      stopping = stopping_;
      open.splice(open.end(), questions_);
    }
    const size_t before = open.size();
    std::erase_if(open, [&](const Question& question) { return question(stopping); });
    const std::lock_guard lock(mutex_);
    count_ -= before - open.size();
    if (stopping && count_ == 0) return;
  }
}

}  // namespace firstfault
