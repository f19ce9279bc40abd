// counters.h: what has happened since the program started, as numbers.
//
// Model:   a table: each count has a name, labels and a sentence; /metrics and the tests read the same rows.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_COUNTERS_H_
#define FIRSTFAULT_COORDINATOR_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace firstfault {

enum class Counter : uint8_t {
  kStreams,
  kMessages,
  kBatches,
  kQuestions,
  kRefusedHandshake,
  kRefusedToken,
  kRefusedHost,
  kRefusedJob,
  kRefusedProtocol,
  kRefusedMessage,
  kRefusedBatch,
  kRefusedRoom,
  kRefusedQuestion,
};

struct CountRow {
  Counter count;
  std::string_view name;    // of the metric; rows of one metric stand together
  std::string_view reason;  // label; empty: none
  std::string_view help;
};

inline constexpr std::string_view kRefusedName = "firstfault_refused_total";
inline constexpr std::string_view kRefusedHelp = "What was turned away, by reason";
inline constexpr std::array kCountRows = {
    CountRow{Counter::kStreams, "firstfault_agent_streams_total", "", "Streams of agents that were let in"},
    CountRow{Counter::kMessages, "firstfault_agent_messages_total", "", "Messages of agents"},
    CountRow{Counter::kBatches, "firstfault_batches_total", "", "Batches that were made durable, repeated ones included"},
    CountRow{Counter::kQuestions, "firstfault_questions_total", "", "Questions over gRPC and HTTP"},
    // A caller whose certificate is missing, expired or by another authority.
    CountRow{Counter::kRefusedHandshake, kRefusedName, "handshake", kRefusedHelp},
    // No token, or one that was not made with our secret.
    CountRow{Counter::kRefusedToken, kRefusedName, "token", kRefusedHelp},
    // An agent that says it is a host which its certificate does not have.
    CountRow{Counter::kRefusedHost, kRefusedName, "host", kRefusedHelp},
    // A batch or question about a job that the token is not for.
    CountRow{Counter::kRefusedJob, kRefusedName, "job", kRefusedHelp},
    // A message out of turn.
    CountRow{Counter::kRefusedProtocol, kRefusedName, "protocol", kRefusedHelp},
    // Bytes that are no message, or too many.
    CountRow{Counter::kRefusedMessage, kRefusedName, "message", kRefusedHelp},
    // A batch that can never be recorded.
    CountRow{Counter::kRefusedBatch, kRefusedName, "batch", kRefusedHelp},
    // A job for whose recording there is no room.
    CountRow{Counter::kRefusedRoom, kRefusedName, "room", kRefusedHelp},
    // One question too many at a time.
    CountRow{Counter::kRefusedQuestion, kRefusedName, "question", kRefusedHelp},
};

class Counters {
 public:
  void Add(Counter count, uint64_t n = 1) { values_[static_cast<size_t>(count)].fetch_add(n, std::memory_order_relaxed); }
  uint64_t Of(Counter count) const { return values_[static_cast<size_t>(count)].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint64_t>, kCountRows.size()> values_{};
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_COUNTERS_H_
