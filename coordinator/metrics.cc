#include "coordinator/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "correlate/version.h"

namespace firstfault {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void AddGauge(const char* name, const char* help, uint64_t value, std::vector<ClientMetric::Label> labels, std::vector<MetricFamily>* out) {
  ClientMetric metric;
  metric.gauge.value = static_cast<double>(value);
  metric.label = std::move(labels);
  out->push_back({name, help, MetricType::Gauge, {std::move(metric)}});
}

}  // namespace

std::string MetricsText(const Counters& counters, const Recordings& recordings, const Agents& agents) {
  std::vector<MetricFamily> families;
  for (const CountRow& row : kCountRows) {
    if (families.empty() || families.back().name != row.name) families.push_back({std::string(row.name), std::string(row.help), MetricType::Counter, {}});
    ClientMetric& metric = families.back().metric.emplace_back();
    metric.counter.value = static_cast<double>(counters.Of(row.count));
    if (!row.reason.empty()) metric.label.push_back({"reason", std::string(row.reason)});
  }
  uint64_t jobs = 0, bytes = 0, lost = 0;
  for (const RecordingSummary& summary : recordings.Summaries()) {
    ++jobs;
    bytes += summary.bytes;
    lost += summary.lost;
  }
  const AgentTotals totals = agents.Totals();
  AddGauge("firstfault_jobs", "Recordings, one a job and attempt", jobs, {}, &families);
  AddGauge("firstfault_recorded_bytes", "Bytes of all recordings, as agents sent them", bytes, {}, &families);
  AddGauge("firstfault_batches_lost", "Batches that were recorded and cannot be read any more", lost, {}, &families);
  AddGauge("firstfault_agents_connected", "Agents whose stream is open", totals.connected, {}, &families);
  AddGauge("firstfault_agents_spooled_bytes", "What these agents have not had acknowledged", totals.spooled_bytes, {}, &families);
  AddGauge("firstfault_agents_dropped_records", "What these agents left out since their spools were made", totals.dropped_records, {}, &families);
  AddGauge("firstfault_build_info", "1; the version is the label", 1, {{"version", kVersion}}, &families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace firstfault
