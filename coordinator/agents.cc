#include "coordinator/agents.h"

#include <algorithm>
#include <utility>

namespace firstfault {

void Agents::Greeted(const void* stream, const v1::Hello& hello, int64_t now_ns, Send send) {
  const std::lock_guard lock(mutex_);
  if (agents_.size() >= kAgentsMax && !agents_.contains(hello.spool_id())) {
    const auto oldest = std::min_element(agents_.begin(), agents_.end(), [](const auto& a, const auto& b) {
      return std::make_pair(a.second.stream != nullptr, a.second.heard_ns) < std::make_pair(b.second.stream != nullptr, b.second.heard_ns);
    });
    of_stream_.erase(oldest->second.stream);
    agents_.erase(oldest);
  }
  Agent& agent = agents_[hello.spool_id()];
  of_stream_.erase(agent.stream);
  of_stream_[stream] = hello.spool_id();
  agent.status.set_host(hello.host());
  agent.status.set_version(hello.version());
  agent.heard_ns = now_ns;
  agent.stream = stream;
  agent.send = std::move(send);
}

Agents::Agent* Agents::Find(const void* stream) {
  const auto spool = of_stream_.find(stream);
  return spool == of_stream_.end() ? nullptr : &agents_.at(spool->second);
}

void Agents::Heard(const void* stream, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (Agent* agent = Find(stream)) agent->heard_ns = now_ns;
}

void Agents::Sent(const void* stream, const JobKey& job) {
  const std::lock_guard lock(mutex_);
  if (Agent* agent = Find(stream)) agent->jobs.insert(job);
}

void Agents::Beat(const void* stream, const v1::Heartbeat& heartbeat) {
  const std::lock_guard lock(mutex_);
  Agent* agent = Find(stream);
  if (agent == nullptr) return;
  agent->status.set_dropped_records(heartbeat.dropped_records());
  agent->status.set_spooled_bytes(heartbeat.spooled_bytes());
}

void Agents::Gone(const void* stream) {
  const std::lock_guard lock(mutex_);
  if (Agent* agent = Find(stream)) {
    agent->stream = nullptr;
    agent->send = nullptr;
  }
  of_stream_.erase(stream);
}

std::vector<v1::AgentStatus> Agents::Of(const JobKey& job, int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::AgentStatus> out;
  for (const auto& [spool, agent] : agents_) {
    if (!agent.jobs.contains(job)) continue;
    v1::AgentStatus& status = out.emplace_back(agent.status);
    status.set_connected(agent.stream != nullptr);
    status.set_heard_ns_ago(now_ns - agent.heard_ns);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.host() < b.host(); });
  return out;
}

AgentTotals Agents::Totals() const {
  const std::lock_guard lock(mutex_);
  AgentTotals out;
  for (const auto& [spool, agent] : agents_) {
    if (agent.stream == nullptr) continue;
    ++out.connected;
    out.spooled_bytes += agent.status.spooled_bytes();
    out.dropped_records += agent.status.dropped_records();
  }
  return out;
}

size_t Agents::AskForTails(const JobKey& job) const {
  v1::CoordinatorMessage message;
  message.mutable_evidence_request()->set_job(job.job);
  message.mutable_evidence_request()->set_tails(true);
  std::vector<Send> sends;  // called without the lock: streams call us with theirs
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [spool, agent] : agents_) {
      if (agent.send && agent.jobs.contains(job)) sends.push_back(agent.send);
    }
  }
  for (const Send& send : sends) send(message);
  return sends.size();
}

}  // namespace firstfault
