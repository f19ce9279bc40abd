// agents.h: which agents there are, and how to ask them for more.
//
// Why:     a silent agent looks like a silent host; what is not seen must be said.
// Model:   an agent is its spool. It is heard of by its stream; the jobs that it serves are those of its batches.
// Limits:  kAgentsMax are remembered; beyond it those that have been gone the longest are forgotten.
// Threads: thread-safe. What was given to Greeted() is called by the thread that asks, and may be called a little after
//          Gone().
#ifndef FIRSTFAULT_COORDINATOR_AGENTS_H_
#define FIRSTFAULT_COORDINATOR_AGENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "coordinator/recording.h"
#include "proto/query.pb.h"

namespace firstfault {

inline constexpr size_t kAgentsMax = 100'000;
// Heartbeats come every 5 s: six in a row are missing.
inline constexpr int64_t kAgentStaleNs = 30'000'000'000;

// Of all agents that are connected.
struct AgentTotals {
  uint64_t connected = 0, spooled_bytes = 0, dropped_records = 0;
};

class Agents {
 public:
  using Send = std::function<void(v1::CoordinatorMessage)>;

  // `stream` tells a spool's streams apart: the end of an old one says nothing of a new one.
  void Greeted(const void* stream, const v1::Hello& hello, int64_t now_ns, Send send);
  void Heard(const void* stream, int64_t now_ns);
  void Sent(const void* stream, const JobKey& job);
  void Beat(const void* stream, const v1::Heartbeat& heartbeat);
  void Gone(const void* stream);

  // Those that have sent of the job since this program started, by host.
  std::vector<v1::AgentStatus> Of(const JobKey& job, int64_t now_ns) const;
  AgentTotals Totals() const;
  // Asks them for the last lines of its sources; returns how many could be asked.
  size_t AskForTails(const JobKey& job) const;

 private:
  struct Agent {
    v1::AgentStatus status;
    int64_t heard_ns = 0;
    std::set<JobKey> jobs;
    const void* stream = nullptr;  // nullptr: gone
    Send send;
  };
  Agent* Find(const void* stream);

  mutable std::mutex mutex_;
  std::map<std::string, Agent> agents_;           // by spool
  std::map<const void*, std::string> of_stream_;  // spool
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_AGENTS_H_
