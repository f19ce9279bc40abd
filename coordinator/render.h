// render.h: a report as text, markdown, one line or JSON.
//
// Why:     the same message for a tired engineer's terminal, a ticket, a chat and a program.
// Errors:  none. Text of logs is shown, never interpreted: not by a terminal, not by markdown.
// Order:   byte-stable: the same report and options give the same bytes.
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_RENDER_H_
#define FIRSTFAULT_COORDINATOR_RENDER_H_

#include <cstddef>
#include <string>

#include "proto/report.pb.h"

namespace firstfault {

// Where output does not go to a terminal: fits a ticket and half a screen.
inline constexpr size_t kDefaultColumns = 100;

struct RenderOptions {
  size_t columns = kDefaultColumns;
  bool full = false;     // nothing is cut or folded
  bool explain = false;  // every hypothesis with its evidence
  bool colour = false;   // only for terminals
};

// All of these end with a newline.
std::string RenderText(const v1::Report& report, const RenderOptions& options);
std::string RenderMarkdown(const v1::Report& report, const RenderOptions& options);
std::string RenderOneLine(const v1::Report& report);
std::string RenderJson(const v1::Report& report);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_RENDER_H_
