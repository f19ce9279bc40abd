// firstfault why: a coordinator's verdict on a job.
#include <cstdlib>

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/coordinator_client.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/report_flags.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {

int Why(const std::vector<std::string>& arguments) {
  ReportFlags flags;
  std::string coordinator;
  v1::WhyRequest request;
  std::optional<uint32_t> attempt;
  CLI::App app("Ask a coordinator what failed first in a job.", "firstfault why");
  DeclareReportFlags(&app, &flags);
  app.add_option("--coordinator", coordinator, "Where it listens; else FIRSTFAULT_COORDINATOR")->type_name("HOST:PORT");
  app.add_option("--attempt", attempt, "This attempt instead of the last one")->type_name("N");
  app.add_option("--wait", *request.mutable_wait(),
                 "Wait up to a minute: until something failed (provisional), or until nothing more will come (final)")
      ->check(CLI::IsMember({"provisional", "final"}));
  app.add_option("JOB", *request.mutable_job(), "Else FIRSTFAULT_JOB, else the newest job that failed");
  if (const auto code = ParseArguments(&app, arguments)) return *code;
  const auto address = CoordinatorAddress(coordinator);
  if (!address.ok()) return Complain(address.status());
  if (attempt) request.set_attempt(*attempt);
  const char* named = std::getenv("FIRSTFAULT_JOB");
  if (request.job().empty() && named != nullptr) request.set_job(named);

  const auto reply = AskWhy(*address, request);
  if (!reply.ok()) return Complain(reply.status());
  std::string out = Render(reply->report(), flags);
  // Which job was meant stands in the first line; programs find it in the message.
  if (request.job().empty() && !flags.json && !flags.one_line) out = Cat("Job ", Printable(reply->job()), "\n\n", out);
  return Print(out, ExitCodeOf(reply->report()));
}

}  // namespace firstfault
