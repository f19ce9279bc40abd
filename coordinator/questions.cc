#include "coordinator/questions.h"

#include <chrono>
#include <utility>

#include "correlate/version.h"

namespace firstfault {

Questions::Questions(Answers* answers, const Access* access, Refusals* refusals, std::function<int64_t()> now_ns)
    : answers_(answers), access_(access), refusals_(refusals), now_ns_(std::move(now_ns)), thread_([this] { Loop(); }) {}

Questions::~Questions() {
  Stop();
  thread_.join();
}

void Questions::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

void Questions::Jobs(const Caller& caller, const v1::JobsRequest& request, Done<v1::JobsReply> done) {
  if (auto status = MayAskAll(caller); !status.ok()) return done(std::move(status));
  auto status = Ask([this, request, done](bool) {
    done(answers_->Jobs(request, now_ns_()));
    return true;
  });
  if (!status.ok()) done(std::move(status));
}

void Questions::Why(const Caller& caller, const v1::WhyRequest& request, std::function<bool()> gone, Done<v1::WhyReply> done) {
  if (auto status = LetIn(caller, &request.job()); !status.ok()) return done(std::move(status));
  auto status = Ask([this, request, gone = std::move(gone), done, since_ns = now_ns_()](bool stopping) {
    const int64_t now_ns = now_ns_();
    auto answer = answers_->Why(request, now_ns, stopping || gone() ? INT64_MAX : now_ns - since_ns);
    if (!answer) return false;
    done(*std::move(answer));
    return true;
  });
  if (!status.ok()) done(std::move(status));
}

absl::StatusOr<v1::StatusReply> Questions::Status(const Caller& caller) {
  v1::StatusReply reply;
  reply.set_received_ns(now_ns_());
  if (auto status = LetIn(caller, nullptr); !status.ok()) return status;
  reply.set_version(kVersion);
  reply.set_sent_ns(now_ns_());
  return reply;
}

absl::Status Questions::MayAskAll(const Caller& caller) {
  const std::string all;
  return LetIn(caller, &all);
}

absl::Status Questions::LetIn(const Caller& caller, const std::string* job) {
  refusals_->counters()->Add(Counter::kQuestions);
  const auto grant = access_->Admit(caller);
  absl::Status status = !grant.ok() ? grant.status() : job == nullptr ? absl::OkStatus() : grant->MayAsk(*job);
  if (!status.ok()) refusals_->Note(grant.ok() ? Counter::kRefusedJob : Counter::kRefusedToken, caller.address, std::string(status.message()));
  return status;
}

absl::Status Questions::Ask(Question question) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && count_ < kQuestionsMax) {
      questions_.push_back(std::move(question));
      ++count_;
      asked_ = true;
      wake_.notify_all();
      return absl::OkStatus();
    }
  }
  constexpr char kTooMany[] = "too many questions at a time, or stopping";
  refusals_->Note(Counter::kRefusedQuestion, "", kTooMany);
  return absl::ResourceExhaustedError(kTooMany);
}

void Questions::Loop() {
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
