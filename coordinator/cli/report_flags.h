// report_flags.h: how a report is shown: the flags that all commands with a report share.
//
// Threads: one thread.
#ifndef FIRSTFAULT_COORDINATOR_CLI_REPORT_FLAGS_H_
#define FIRSTFAULT_COORDINATOR_CLI_REPORT_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "proto/report.pb.h"

namespace firstfault {

struct ReportFlags {
  bool json = false, markdown = false, one_line = false, explain = false, full = false;
};

void DeclareReportFlags(CLI::App* app, ReportFlags* flags);
// For standard output as it is.
std::string Render(const v1::Report& report, const ReportFlags& flags);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_REPORT_FLAGS_H_
