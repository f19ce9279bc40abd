#include "coordinator/cli/report_flags.h"

#include "coordinator/cli/output.h"
#include "coordinator/render.h"

namespace firstfault {

void DeclareReportFlags(CLI::App* app, ReportFlags* flags) {
  auto* json = app->add_flag("--json", flags->json, "Print the report as JSON");
  auto* markdown = app->add_flag("--markdown", flags->markdown, "Print the report to paste into a ticket");
  auto* one_line = app->add_flag("--one-line", flags->one_line, "Print the verdict only");
  json->excludes(markdown)->excludes(one_line);
  markdown->excludes(one_line);
  app->add_flag("--explain", flags->explain, "Also list the timeline and every hypothesis with its evidence");
  app->add_flag("--full", flags->full, "Do not cut long lines nor fold long blocks");
}

std::string Render(const v1::Report& report, const ReportFlags& flags) {
  if (flags.json) return RenderJson(report);
  if (flags.one_line) return RenderOneLine(report);
  RenderOptions options;
  options.full = flags.full;
  options.explain = flags.explain;
  if (flags.markdown) return RenderMarkdown(report, options);
  options.columns = OutputColumns();
  options.colour = OutputHasColour();
  return RenderText(report, options);
}

}  // namespace firstfault
