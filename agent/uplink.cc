#include "agent/uplink.h"

#include <algorithm>

#include "proto/fail_point.h"

namespace firstfault::agent {

Uplink::Uplink(v1::Hello hello, Spool& spool, Stream& stream, uint64_t random)
    : hello_(std::move(hello)), spool_(spool), stream_(stream), random_(random | 1) {}

void Uplink::Pause(int64_t now_ns) {
  state_ = State::kIdle;
  unacked_.clear();
  unacked_bytes_ = 0;
  random_ ^= random_ << 13;  // xorshift
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  next_connect_ns_ = now_ns + backoff_ns_ / 2 + static_cast<int64_t>(random_ % static_cast<uint64_t>(backoff_ns_));
  backoff_ns_ = std::min(2 * backoff_ns_, kBackoffMaxNs);
}

void Uplink::Tick(Moment now) {
  if (state_ == State::kIdle) {
    if (now.monotonic_ns < next_connect_ns_) return;
    ++connects_;
    stream_.Connect();
    v1::AgentMessage message;
    *message.mutable_hello() = hello_;
    stream_.Send(message);
    state_ = State::kGreeting;
    heard_ns_ = now.monotonic_ns;
    return;
  }
  if (now.monotonic_ns - heard_ns_ >= kSilentNs) {
    stream_.Close();
    Pause(now.monotonic_ns);
    return;
  }
  if (state_ == State::kGreeting) return;
  if (now.monotonic_ns >= next_probe_ns_) {
    SendProbe(now);
    next_probe_ns_ = now.monotonic_ns + (++burst_ % kBurstProbes == 0 ? kBurstEveryNs : kProbeEveryNs);
  }
  if (now.monotonic_ns >= next_heartbeat_ns_) {
    v1::AgentMessage message;
    message.mutable_heartbeat()->set_dropped_records(spool_.dropped_records());
    message.mutable_heartbeat()->set_spooled_bytes(spool_.bytes());
    stream_.Send(message);
    next_heartbeat_ns_ = now.monotonic_ns + kHeartbeatEveryNs;
    SendProbe(now);  // its answer shows that the other side lives
  }
  SendBatches();
}

void Uplink::SendProbe(Moment now) {
  v1::AgentMessage message;
  v1::ClockProbe* probe = message.mutable_clock_probe();
  probe->set_number(++probes_);
  probe->set_monotonic_ns(now.monotonic_ns);
  probe->set_wall_ns(now.wall_ns);
  if (reply_number_ != 0) {
    probe->set_reply_number(reply_number_);
    probe->set_reply_monotonic_ns(reply_arrived_.monotonic_ns);
    probe->set_reply_wall_ns(reply_arrived_.wall_ns);
  }
  stream_.Send(message);
}

void Uplink::SendBatches() {
  if (next_send_ >= spool_.next_sequence() || unacked_bytes_ >= kUnackedBytesMax) return;
  // What cannot be read now is tried again at the next tick.
  spool_
      .Read(next_send_,
            [&](const v1::Batch& batch) {
              if (unacked_bytes_ >= kUnackedBytesMax || stream_.queued_bytes() >= kQueuedBytesMax) return false;
              v1::AgentMessage message;
              *message.mutable_batch() = batch;
              const size_t bytes = message.ByteSizeLong();
              stream_.Send(message);
              next_send_ = batch.sequence() + 1;
              unacked_.emplace_back(batch.sequence(), bytes);
              unacked_bytes_ += bytes;
              return true;
            })
      .IgnoreError();
}

void Uplink::OnMessage(Moment now, const v1::CoordinatorMessage& message) {
  if (state_ == State::kIdle) return;
  heard_ns_ = now.monotonic_ns;
  switch (message.body_case()) {
    case v1::CoordinatorMessage::kWelcome:
      state_ = State::kWelcomed;
      backoff_ns_ = kBackoffFirstNs;
      next_send_ = std::max<uint64_t>(message.welcome().next_sequence(), 1);
      spool_.Acknowledge(next_send_ - 1);
      next_probe_ns_ = next_heartbeat_ns_ = now.monotonic_ns;
      probes_ = burst_ = reply_number_ = 0;
      break;
    case v1::CoordinatorMessage::kAck:
      FailPoint("ack.receive");
      refused_ = message.ack().refused();
      spool_.Acknowledge(message.ack().sequence());
      while (!unacked_.empty() && unacked_.front().first <= message.ack().sequence()) {
        unacked_bytes_ -= unacked_.front().second;
        unacked_.pop_front();
      }
      break;
    case v1::CoordinatorMessage::kClockReply:
      reply_number_ = message.clock_reply().number();
      reply_arrived_ = now;
      break;
    case v1::CoordinatorMessage::kEvidenceRequest:
      tails_wanted_ |= message.evidence_request().tails();
      break;
    case v1::CoordinatorMessage::BODY_NOT_SET:  // of a later release
      break;
  }
}

void Uplink::OnEnd(Moment now) {
  if (state_ != State::kIdle) Pause(now.monotonic_ns);
}

}  // namespace firstfault::agent
