// report_phrases.h: the sentences of a report that are put together from its fields.
//
// Why:     the verdict, a place or a clock reads the same in text, in a ticket and in a chat message.
// Shapes:  results still hold text of logs as it is (host names): show them through Printable().
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_REPORT_PHRASES_H_
#define FIRSTFAULT_COORDINATOR_REPORT_PHRASES_H_

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace firstfault {

// "rank 3 on node n01 (GPU 3)"; "a place that the logs do not name" where nothing of it is known.
std::string PlacePhrase(const v1::Place& place);

// "rank 3 on node n01 (GPU 3) failed first: CUDA out of memory [capacity, oom.torch], confidence 0.92".
std::string VerdictLine(const v1::Report& report);

// "logs/n01/rank3.log:8813"
std::string LinePlace(const v1::EventView& event);

// The two views are of the same line.
bool SameLine(const v1::EventView& a, const v1::EventView& b);

// The same fault on every rank: a cause without a place.
bool AllRanksAlike(const v1::Report& report);

// "n02's clock is 41.0 s ahead of n01's", for every host that is off by more than is known of it, and what is
// wrong with clocks otherwise. Stamps are shown as they were printed, so the reader needs these to compare them.
std::vector<std::string> ClockSentences(const v1::Completeness& completeness);

// "310 ms", "41.0 s", "12.5 min", "2.0 h"; without a sign.
std::string DurationPhrase(int64_t ns);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_REPORT_PHRASES_H_
