// firstfault jobs: what a coordinator has recorded.
#include <algorithm>
#include <array>

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/coordinator_client.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {

int Jobs(const std::vector<std::string>& arguments) {
  CoordinatorFlags coordinator;
  CLI::App app("List the jobs that a coordinator knows, newest first.", "firstfault jobs");
  DeclareCoordinatorFlags(&app, &coordinator);
  if (const auto code = ParseArguments(&app, arguments)) return *code;
  const auto peer = FindCoordinator(coordinator);
  if (!peer.ok()) return Complain(peer.status());
  const auto reply = AskJobs(*peer, {});
  if (!reply.ok()) return Complain(reply.status());

  constexpr size_t kColumns = 5;
  std::vector<std::array<std::string, kColumns>> rows = {{"JOB", "ATTEMPT", "STATE", "HOSTS", "VERDICT"}};
  for (const v1::JobSummary& job : reply->job()) {
    const std::string title = job.headline().empty() ? job.verdict() : Cat(job.verdict(), ": ", job.headline());
    rows.push_back({Printable(job.job()), std::to_string(job.attempt()), job.state(), std::to_string(job.hosts()), Printable(title)});
  }
  std::array<size_t, kColumns> widths{};
  for (const auto& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i + 1 < kColumns; ++i) out += Cat(row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    out += Cat(row.back(), "\n");
  }
  for (const v1::JobSummary& job : reply->job()) {
    for (const std::string& version : job.agent_version()) {
      if (version == reply->version()) continue;
      out += Cat("Job ", Printable(job.job()), " has agents of version ", Printable(version), "; the coordinator is ", Printable(reply->version()), ".\n");
    }
  }
  return Print(out, kExitOk);
}

}  // namespace firstfault
