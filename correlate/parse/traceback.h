// traceback.h: Python tracebacks, with their cause chains, out of merged and interleaved logs.
//
// Why:     the last line of a traceback says what; its nested cause says why. Several ranks on one pipe
//          interleave their tracebacks line by line, with or without a rank tag.
// Model:   from a "Traceback (most recent call last):" line, follow the lines of the same writer. Each
//          exception that ends becomes one Raised; chained ones share one chain, first printed first.
// Errors:  an unfinished traceback (end of file, cut line) gives what was read, possibly nothing.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_PARSE_TRACEBACK_H_
#define FIRSTFAULT_CORRELATE_PARSE_TRACEBACK_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/parse/line.h"

namespace firstfault {

// Lines followed from one traceback start. Deep recursion prints about 1,000 frames.
inline constexpr size_t kTracebackLinesMax = 2200;

struct Raised {
  size_t line = 0;          // index in the reader of the final line "Class: text"
  std::string class_name;   // as printed, possibly qualified; empty if cut
  size_t lines_end = 0;     // index behind the last line of its message
  std::optional<int32_t> process;  // "-- Process 3 terminated with the following error:"
};

struct TracebackChain {
  // In printed order. For "During handling" and "direct cause" chains the first is the cause; for
  // wrappers that quote an inner traceback ("Original Traceback", spawn) the last is.
  std::vector<Raised> raised;
  size_t cause = 0;  // index into raised
};

struct TracebackParse {
  std::vector<TracebackChain> chains;  // one a concurrent traceback
  std::vector<size_t> lines;           // indices of all lines that belong to them, sorted
};

bool IsTracebackStart(std::string_view message);
// The rank that raised it, of a traceback that other ranks print as well: "Traceback (...): (RANK 10)", as torch's
// distributed checkpoint sends the errors of some ranks to all.
std::optional<int32_t> OriginOfRelay(std::string_view message);
// The class in "pkg.SomeError: text" or in a bare "SomeError". Empty if the line is no end of a traceback.
std::string_view ExceptionClass(std::string_view message);
// The public function of torch.distributed that a stack frame is in ("all_reduce"). Empty for other frames.
std::string_view CollectiveInFrame(std::string_view message);
TracebackParse ParseTraceback(LineReader& reader);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PARSE_TRACEBACK_H_
