#include "coordinator/answers.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "correlate/text.h"
#include "correlate/version.h"

namespace firstfault {
namespace {

// No agent can add to it: each is gone, and has been for longer than a restart takes.
bool AllLost(const std::vector<v1::AgentStatus>& agents) {
  return !agents.empty() && std::all_of(agents.begin(), agents.end(), [](const v1::AgentStatus& agent) {
    return !agent.connected() && agent.heard_ns_ago() >= kAgentStaleNs;
  });
}

struct WaitRow {
  std::string_view wait;
  bool (*enough)(bool failed, bool final);
};
constexpr WaitRow kWaits[] = {
    {"", [](bool, bool) { return true; }},
    {"provisional", [](bool failed, bool final) { return failed || final; }},
    {"final", [](bool, bool final) { return final; }},
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Replay>> Answers::AnswerOf(const RecordingSummary& summary) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = answers_.find(summary.key);
    if (it != answers_.end() && it->second.batches == summary.batches) return it->second.replay;
  }
  const auto batches = recordings_->Read(summary.key);
  if (!batches.ok()) return batches.status();
  auto replay = std::make_shared<Replay>(ReplayBatches(*engine_, *batches, summary.lost));
  // What the job is called here; its logs may call it otherwise.
  for (v1::Report* report : {&replay->report, replay->settled ? &*replay->settled : nullptr}) {
    if (report == nullptr) continue;
    report->set_job(summary.key.job);
    report->set_attempt(static_cast<int32_t>(summary.key.attempt));
  }
  const std::lock_guard lock(mutex_);
  answers_[summary.key] = {batches->size(), replay};
  return std::shared_ptr<const Replay>(std::move(replay));
}

absl::StatusOr<v1::Report> Answers::ReportOf(const RecordingSummary& summary, int64_t now_ns) {
  const auto answer = AnswerOf(summary);
  if (!answer.ok()) return answer.status();
  const Replay& replay = **answer;
  const int64_t quiet_ns = now_ns - summary.last_ns;
  const bool final = replay.all_closed || (replay.job_closed && quiet_ns >= kQuietNs) || AllLost(agents_->Of(summary.key, now_ns));
  const bool stalled = replay.report.state().state() == "running" && !final && quiet_ns >= stall_after_ns_;
  v1::Report report = replay.settled && (final || stalled) ? *replay.settled : replay.report;
  v1::State* state = report.mutable_state();
  state->set_finality(final ? "final" : "provisional");
  if (stalled) {
    state->set_state("stalled");
    state->set_since_ns(summary.last_ns);
    if (replay.behind) *state->mutable_waiting_for() = *replay.behind;
  }
  return report;
}

void Answers::Forget(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  answers_.erase(key);
}

v1::JobsReply Answers::Jobs(const v1::JobsRequest& request, int64_t now_ns) {
  v1::JobsReply out;
  out.set_version(kVersion);
  const size_t limit = std::min(request.has_limit() ? request.limit() : kJobsDefault, kJobsMax);
  for (const RecordingSummary& summary : recordings_->Summaries()) {
    if (static_cast<size_t>(out.job_size()) >= limit) break;
    v1::JobSummary* job = out.add_job();
    job->set_job(summary.key.job);
    job->set_attempt(summary.key.attempt);
    job->set_hosts(static_cast<uint32_t>(summary.hosts.size()));
    job->set_records(summary.records);
    job->set_bytes(summary.bytes);
    job->set_first_ns(summary.first_ns);
    job->set_last_ns(summary.last_ns);
    std::set<std::string> versions;
    for (const v1::AgentStatus& agent : agents_->Of(summary.key, now_ns)) versions.insert(agent.version());
    for (const std::string& version : versions) job->add_agent_version(version);
    const auto report = ReportOf(summary, now_ns);
    if (!report.ok()) continue;  // it is there, and nothing can be said of it
    job->set_state(report->state().state());
    job->set_verdict(report->verdict());
    job->set_headline(report->title());
  }
  return out;
}

absl::StatusOr<RecordingSummary> Answers::Find(const v1::WhyRequest& request) {
  std::optional<RecordingSummary> found;
  for (const RecordingSummary& summary : recordings_->Summaries()) {
    if (request.job().empty()) {
      const auto answer = AnswerOf(summary);
      if (answer.ok() && (*answer)->report.state().state() == "failed") return summary;
    } else if (summary.key.job == request.job()) {
      if (request.has_attempt() ? summary.key.attempt == request.attempt()
                                : !found || summary.key.attempt > found->key.attempt) {
        found = summary;
      }
    }
  }
  if (found) return *std::move(found);
  if (request.job().empty()) return absl::NotFoundError("no job has failed");
  return absl::NotFoundError(Cat("nothing is recorded of job ", request.job()));
}

std::optional<absl::StatusOr<v1::WhyReply>> Answers::Why(const v1::WhyRequest& request, int64_t now_ns, int64_t waited_ns) {
  using Reply = absl::StatusOr<v1::WhyReply>;
  const auto row = std::find_if(std::begin(kWaits), std::end(kWaits), [&](const WaitRow& r) { return r.wait == request.wait(); });
  if (row == std::end(kWaits)) return Reply(absl::InvalidArgumentError("wait is provisional, final or empty"));
  const bool wait_over = row->wait.empty() || waited_ns >= (request.has_wait_ns() ? request.wait_ns() : kWaitDefaultNs);
  const auto summary = Find(request);
  if (!summary.ok()) return wait_over ? std::optional(Reply(summary.status())) : std::nullopt;
  auto report = ReportOf(*summary, now_ns);
  if (!report.ok()) return Reply(report.status());
  const bool final = report->state().finality() == "final", failed = report->state().state() == "failed";
  if (!wait_over && !row->enough(failed, final)) return std::nullopt;
  v1::WhyReply reply;
  reply.set_job(summary->key.job);
  *reply.mutable_report() = *std::move(report);
  for (v1::AgentStatus& agent : agents_->Of(summary->key, now_ns)) *reply.add_agent() = std::move(agent);
  return Reply(std::move(reply));
}

}  // namespace firstfault
