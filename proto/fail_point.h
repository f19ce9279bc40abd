// fail_point.h: named places at which a test may kill the program.
//
// Why:     what a crash leaves behind depends on where it hits; between a disk's promise and the next step a random
//          kill hits once in thousands.
// Model:   FIRSTFAULT_FAIL_POINT=NAME:N kills the process, as SIGKILL does, at the N-th pass of that place. Unset: one
//          comparison.
// Errors:  another value ends the program with a message.
// Threads: thread-safe.
#ifndef FIRSTFAULT_PROTO_FAIL_POINT_H_
#define FIRSTFAULT_PROTO_FAIL_POINT_H_

#include <string_view>

namespace firstfault {

inline constexpr std::string_view kFailPoints[] = {
    "append.begin",    // rows are in the transaction, which is not committed
    "append.end",      // they are durable, and nobody knows
    "trim.begin",      // acknowledged rows are still there
    "trim.end",        // they are gone
    "rebuild.built",   // a damaged log's rows are in a new file of another name
    "rebuild.named",   // the new file is whole; the damaged one stands in its place
    "ack.send",        // the coordinator has made a batch durable and has not said so
    "ack.receive",     // the agent was told and has not acted on it
    "rotate",          // a file that was renamed is left for its successor
};

// `name`: one of kFailPoints.
void FailPoint(std::string_view name);

}  // namespace firstfault

#endif  // FIRSTFAULT_PROTO_FAIL_POINT_H_
