// uplink.h: brings the spool's batches to the coordinator, and its questions back.
//
// Model:   a core that is told the time and what the stream says, and that says what to send; the stream is
//          behind an interface (grpc_stream.h). Hello and Welcome settle where to go on; batches follow in
//          order, at most kUnackedBytesMax ahead of the acknowledgements; what was not acknowledged when a
//          stream ends is sent again on the next one.
// Errors:  a stream that ends, or stays silent, is made anew after a pause that doubles and is jittered, so
//          that agents do not come back all at once.
// Threads: one thread; nothing waits.
#ifndef FIRSTFAULT_AGENT_UPLINK_H_
#define FIRSTFAULT_AGENT_UPLINK_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "agent/spool.h"
#include "proto/ingest.pb.h"

namespace firstfault::agent {

// Readings of one moment.
struct Moment {
  int64_t wall_ns = 0, monotonic_ns = 0;
};

// One stream at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  // Begins a stream; messages may be sent at once. Ends the one before.
  virtual void Connect() = 0;
  virtual void Send(const v1::AgentMessage& message) = 0;
  // Bytes that were given to Send and are not on their way.
  virtual size_t queued_bytes() const = 0;
  virtual void Close() = 0;
};

// Ahead of the acknowledgements: what a coordinator gets in one sync interval at a good rate.
inline constexpr size_t kUnackedBytesMax = 4 << 20;
inline constexpr size_t kQueuedBytesMax = 1 << 20;
inline constexpr int64_t kHeartbeatEveryNs = 5'000'000'000;
// A stream on which nothing came for two heartbeats' answers, or no Welcome, is dead.
inline constexpr int64_t kSilentNs = 20'000'000'000;
inline constexpr int64_t kBackoffFirstNs = 200'000'000, kBackoffMaxNs = 30'000'000'000;
// Probes of a burst: the one with the shortest way tells the offset.
inline constexpr uint64_t kBurstProbes = 8;
inline constexpr int64_t kProbeEveryNs = 50'000'000, kBurstEveryNs = 60'000'000'000;

class Uplink {
 public:
  // `stream` and `spool` must outlive it. `random` seeds the jitter.
  Uplink(v1::Hello hello, Spool& spool, Stream& stream, uint64_t random);

  // Sends what is due.
  void Tick(Moment now);
  void OnMessage(Moment now, const v1::CoordinatorMessage& message);
  void OnEnd(Moment now);
  // A request to ship the tails, once.
  bool TakeTailsWanted() { return std::exchange(tails_wanted_, false); }
  bool welcomed() const { return state_ == State::kWelcomed; }
  uint64_t connects() const { return connects_; }
  uint64_t refused() const { return refused_; }

 private:
  enum class State : uint8_t { kIdle, kGreeting, kWelcomed };

  void Pause(int64_t now_ns);
  void SendBatches();
  void SendProbe(Moment now);

  const v1::Hello hello_;
  Spool& spool_;
  Stream& stream_;
  uint64_t random_;
  State state_ = State::kIdle;
  int64_t next_connect_ns_ = INT64_MIN;
  int64_t backoff_ns_ = kBackoffFirstNs;
  int64_t heard_ns_ = 0;
  int64_t next_heartbeat_ns_ = 0, next_probe_ns_ = 0;
  uint64_t probes_ = 0, burst_ = 0;  // sent on this stream; of them in bursts
  Moment reply_arrived_;            // of the last probe answered
  uint64_t reply_number_ = 0;
  uint64_t next_send_ = 1;          // sequence
  std::deque<std::pair<uint64_t, size_t>> unacked_;  // sequence, bytes
  size_t unacked_bytes_ = 0;
  bool tails_wanted_ = false;
  uint64_t connects_ = 0, refused_ = 0;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_AGENT_UPLINK_H_
