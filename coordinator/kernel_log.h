// kernel_log.h: tells a kernel log by its lines, and whose it is.
//
// Why:     kernel logs are saved under any name; what they say is about a host and never about a rank.
// Threads: pure functions.
#ifndef FIRSTFAULT_COORDINATOR_KERNEL_LOG_H_
#define FIRSTFAULT_COORDINATOR_KERNEL_LOG_H_

#include <string_view>

#include "correlate/event.h"

namespace firstfault {

// Sets the kind of a source that has none and reads like a kernel log, and the host of a kernel log where
// all sampled lines agree on it.
void NameKernelLog(std::string_view head, SourceInfo* info);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_KERNEL_LOG_H_
