#include "coordinator/ingest_session.h"

#include <utility>

#include "correlate/version.h"

namespace firstfault {
namespace {

// Names of hosts and spools become part of every row.
constexpr size_t kNameBytesMax = 255;

IngestSession::Step End(Counter refused, absl::Status status) {
  IngestSession::Step step;
  step.refused = refused;
  step.end = std::move(status);
  return step;
}

}  // namespace

IngestSession::Step IngestSession::Handle(v1::AgentMessage message, int64_t now_ns) {
  using Body = v1::AgentMessage::BodyCase;
  if (message.body_case() == Body::kHello) return Greet(std::move(*message.mutable_hello()));
  if (!hello_) return End(Counter::kRefusedProtocol, absl::FailedPreconditionError("the first message must be a hello"));
  if (message.body_case() == Body::kBatch) return Take(std::move(*message.mutable_batch()));
  Step step;
  if (message.body_case() == Body::kClockProbe) {
    v1::ClockReply* reply = step.reply.emplace().mutable_clock_reply();
    reply->set_number(message.clock_probe().number());
    reply->set_received_ns(now_ns);
  }
  return step;  // a heartbeat, or something of a later release
}

IngestSession::Step IngestSession::Greet(v1::Hello hello) {
  if (hello_) return End(Counter::kRefusedProtocol, absl::FailedPreconditionError("a second hello"));
  for (const std::string* name : {&hello.host(), &hello.spool_id()}) {
    if (name->empty() || name->size() > kNameBytesMax) {
      return End(Counter::kRefusedProtocol, absl::InvalidArgumentError("a hello needs a host and a spool"));
    }
  }
  if (auto status = grant_.MayBe(hello.host()); !status.ok()) return End(Counter::kRefusedHost, std::move(status));
  hello_ = std::move(hello);
  Step step;
  v1::Welcome* welcome = step.reply.emplace().mutable_welcome();
  welcome->set_next_sequence(recordings_->NextSequence(hello_->spool_id()));
  welcome->set_version(kVersion);
  welcome->set_coordinator_id(coordinator_id_);
  return step;
}

IngestSession::Step IngestSession::Take(v1::Batch batch) {
  auto refusal = RefusalOf(batch);
  if (!refusal) {
    if (auto status = grant_.MayWrite(batch.job()); !status.ok()) return End(Counter::kRefusedJob, std::move(status));
  }
  if (!refusal && !recordings_->HasRoomFor({batch.job(), batch.attempt()})) {
    return End(Counter::kRefusedRoom, absl::ResourceExhaustedError("too many recordings; let the coordinator keep them for fewer days (--keep-days)"));
  }
  Step step;
  v1::Ack* ack = step.ack.emplace().mutable_ack();
  ack->set_sequence(batch.sequence());
  if (refusal) {
    step.refused = Counter::kRefusedBatch;
    ++refused_;
    refusal_ = *std::move(refusal);
  } else {
    step.batch = std::move(batch);
  }
  ack->set_refused(refused_);
  ack->set_refusal(refusal_);
  return step;
}

v1::LoggedBatch IngestSession::Logged(v1::Batch batch, int64_t now_ns) const {
  v1::LoggedBatch logged;
  logged.set_host(hello_->host());
  logged.set_boot_id(hello_->boot_id());
  logged.set_spool_id(hello_->spool_id());
  logged.set_arrived_ns(now_ns);
  *logged.mutable_batch() = std::move(batch);
  return logged;
}

}  // namespace firstfault
