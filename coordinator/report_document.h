// report_document.h: a report as titled sections, before it is decided how they look.
//
// Why:     text and markdown say the same in the same order; what a tired reader needs first stands first,
//          and a section without content does not appear.
// Model:   one table of sections, each a function from the report to blocks.
// Shapes:  lines are as the report has them: the renderers make them safe and cut them.
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_REPORT_DOCUMENT_H_
#define FIRSTFAULT_COORDINATOR_REPORT_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace firstfault {

enum class BlockKind : uint8_t {
  kProse,     // a paragraph each
  kListed,    // an item each
  kNumbered,  // likewise, in order
  kPlace,     // file:line and what belongs to it; never wrapped, so that it can be copied
  kLog,       // lines of a log, as they stand
  kCommand,   // to be copied: never wrapped nor cut
};

struct DocumentBlock {
  BlockKind kind;
  std::vector<std::string> lines;
  // Of the first line: the bytes for which it is shown, which a cut leaves in. Empty: none.
  size_t kept_begin = 0, kept_size = 0;
};

struct DocumentSection {
  std::string title;
  std::vector<DocumentBlock> blocks;
};

struct Document {
  std::string verdict;
  std::vector<DocumentSection> sections;
  std::string footer;  // job, coverage and program, in one line
};

struct DocumentOptions {
  bool full = false;     // nothing is folded
  bool explain = false;  // the timeline and every hypothesis with its evidence
};

Document DocumentOf(const v1::Report& report, const DocumentOptions& options);

// A line of a log, made printable and at most `columns` wide.
std::string ShownLine(const DocumentBlock& block, size_t index, size_t columns);

// What the report could not see: its section's items, in order.
std::vector<std::string> NotSeen(const v1::Report& report);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_REPORT_DOCUMENT_H_
