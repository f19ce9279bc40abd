// prefix.h: peels what launchers, collectors and loggers put in front of a line.
//
// Why:     "who" and "when" are almost always in the prefix, in one of some fifty dialects that stack:
//          `12: [default3]:[rank99]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [PG 0 Rank 3] text`.
// Model:   a table of dialects by layer, peeled outermost first, only known forms. Four kinds of rank stay
//          apart: global, local, group and launcher task.
// Shapes:  views into the line; at most kPeelsMax prefixes.
// Errors:  an unknown prefix stays part of the message.
// Threads: pure functions; the table is built once.
// Source:  shared reference log-prefixes, sections 2 to 10.
#ifndef FIRSTFAULT_CORRELATE_PARSE_PREFIX_H_
#define FIRSTFAULT_CORRELATE_PARSE_PREFIX_H_

#include <string>
#include <string_view>
#include <vector>

#include "correlate/event.h"

namespace firstfault {

inline constexpr int kPeelsMax = 8;

// Prefixes that are too short to be believed on one line (`12: `, `n01: `, `[3] `) are taken only where
// most lines of the source have them, or where another known prefix follows.
struct PrefixHabits {
  bool task_colon = false;    // srun -l
  bool host_colon = false;    // pdsh, clush
  bool rank_bracket = false;  // MPICH -l
  bool line_number = false;   // artefact stores: "[80746] "
};
PrefixHabits LearnHabits(const std::vector<std::string_view>& lines);

struct Peeled {
  Prefix prefix;
  std::string_view message;
  // Offsets in the line where a prefix ended, and where a message begins after an exception class or
  // "what():": the places where a START pattern may begin.
  std::vector<size_t> starts;
  std::vector<const char*> dialects;  // names of the rows that applied
  size_t outer = 0;                   // how many of them are collectors, multiplexers, tees and rank tags:
                                      // what stands before every line of a multi-line message
};

Peeled Peel(std::string_view line, const PrefixHabits& habits = {});

// Offsets inside the line where another writer's line begins: `...[rank1]: Traceback` glued by threads or
// by a progress bar without newline. Sorted; never 0.
std::vector<size_t> GluedStarts(std::string_view line);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_PARSE_PREFIX_H_
