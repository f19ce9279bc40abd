// firstfault why: a coordinator's verdict on a job.
#include <cstdlib>

#include "coordinator/agents.h"
#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/coordinator_client.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/report_flags.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"
#include "correlate/version.h"

namespace firstfault {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

// What the logs do not say: whether the job still moves, and whether its hosts are still watched.
std::string Standing(const v1::WhyReply& reply) {
  std::string out;
  const v1::State& state = reply.report().state();
  if (state.state() == "stalled") {
    out += "The job is stalled: it runs and says nothing";
    if (state.has_waiting_for()) {
      out += Cat("; rank ", state.waiting_for().rank(), state.waiting_for().has_host() ? Cat(" on ", Printable(state.waiting_for().host())) : "",
                 " is behind all others");
    }
    out += ".\n";
  }
  for (const v1::AgentStatus& agent : reply.agent()) {
    const std::string name = Cat("The agent on ", Printable(agent.host()));
    const int64_t silent_s = agent.heard_ns_ago() / kSecondNs;
    if (!agent.connected()) out += Cat(name, " has gone, ", silent_s, " s ago: nobody reads there.\n");
    if (agent.connected() && agent.heard_ns_ago() >= kAgentStaleNs) out += Cat(name, " has not been heard for ", silent_s, " s.\n");
    if (agent.dropped_records() > 0) out += Cat(name, " left out ", agent.dropped_records(), " records: its spool was full.\n");
    if (agent.version() != kVersion) out += Cat(name, " is version ", Printable(agent.version()), "; this is ", kVersion, ".\n");
  }
  return out;
}

}  // namespace

int Why(const std::vector<std::string>& arguments) {
  ReportFlags flags;
  CoordinatorFlags coordinator;
  v1::WhyRequest request;
  std::optional<uint32_t> attempt;
  CLI::App app("Ask a coordinator what failed first in a job.", "firstfault why");
  DeclareReportFlags(&app, &flags);
  DeclareCoordinatorFlags(&app, &coordinator);
  app.add_option("--attempt", attempt, "This attempt instead of the last one")->type_name("N");
  app.add_option("--wait", *request.mutable_wait(),
                 "Wait up to a minute: until something failed (provisional), or until nothing more will come (final)")
      ->check(CLI::IsMember({"provisional", "final"}));
  app.add_option("JOB", *request.mutable_job(), "Else FIRSTFAULT_JOB, else the newest job that failed");
  if (const auto code = ParseArguments(&app, arguments)) return *code;
  const auto peer = FindCoordinator(coordinator);
  if (!peer.ok()) return Complain(peer.status());
  if (attempt) request.set_attempt(*attempt);
  const char* named = std::getenv("FIRSTFAULT_JOB");
  if (request.job().empty() && named != nullptr) request.set_job(named);

  const auto reply = AskWhy(*peer, request);
  if (!reply.ok()) return Complain(reply.status());
  std::string out = Render(reply->report(), flags);
  if (!flags.json && !flags.one_line) {
    if (const std::string standing = Standing(*reply); !standing.empty()) out = Cat(standing, "\n", out);
  }
  // Which job was meant stands in the first line; programs find it in the message.
  if (request.job().empty() && !flags.json && !flags.one_line) out = Cat("Job ", Printable(reply->job()), "\n\n", out);
  return Print(out, ExitCodeOf(reply->report()));
}

}  // namespace firstfault
