// metrics.h: the coordinator's numbers for Prometheus.
//
// Model:   counters of counters.h, and gauges read from who knows them when asked. README.md lists none: each has its
//          sentence in the text.
// Threads: thread-safe.
#ifndef FIRSTFAULT_COORDINATOR_METRICS_H_
#define FIRSTFAULT_COORDINATOR_METRICS_H_

#include <string>

#include "coordinator/agents.h"
#include "coordinator/counters.h"
#include "coordinator/recording.h"

namespace firstfault {

// In the text format of Prometheus, version 0.0.4.
std::string MetricsText(const Counters& counters, const Recordings& recordings, const Agents& agents);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_METRICS_H_
