#include "coordinator/report_phrases.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "coordinator/fold.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000, kSecondNs = 1'000 * kMillisecondNs;
// Hosts with working time synchronisation agree within a few milliseconds; a tenth of a second is more than
// that, and enough to swap two lines in the reader's mind.
constexpr int64_t kClockOffNs = 100 * kMillisecondNs;
constexpr size_t kSuspectsInVerdict = 3;

// "oom.torch [capacity]" the other way round: "[capacity, oom.torch]".
std::string CauseTag(const v1::Report& report) {
  return report.has_signature() ? Cat('[', report.class_(), ", ", report.signature(), ']')
                                : Cat('[', report.class_(), ']');
}

// What a scheduler or an operator ends did not fail, and the place is where it was seen.
std::string EndedLine(const v1::Report& report) {
  const std::string place = report.has_initiator() ? Cat(", seen on ", PlacePhrase(report.initiator())) : "";
  const bool says_job = report.title().find("job") != std::string::npos;
  const std::string job = report.job().empty() ? "" : Cat(says_job ? " (" : " (job ", report.job(), ")");
  return Cat("ended from outside: ", report.title(), job, place);
}

std::string Subject(const v1::Report& report) {
  if (AllRanksAlike(report)) return "all ranks failed alike";
  if (report.has_initiator()) return Cat(PlacePhrase(report.initiator()), " failed first");
  return "first fault, on a rank that the logs do not name";
}

std::string NamedLine(const v1::Report& report) {
  std::string what = report.title();
  if (what.empty()) what = report.has_signature() ? report.signature() : "it left no line that says why";
  const bool ended = report.class_() == "scheduler" && !report.title().empty();
  const std::string who = Fixed(report.confidence(), 2), with_class = Fixed(report.class_confidence(), 2);
  return Cat(ended ? EndedLine(report) : Cat(Subject(report), ": ", what), ' ', CauseTag(report), ", confidence ", who,
             report.has_class_confidence() && with_class != who ? Cat(", in the class ", with_class) : "");
}

std::string UndeterminedLine(const v1::Report& report) {
  std::string out = Cat("undetermined: ", report.why().empty() ? "the logs do not decide" : report.why());
  std::vector<std::string> places;
  for (const v1::Place& place : report.suspects()) places.push_back(PlacePhrase(place));
  if (!places.empty()) out += Cat("; suspects: ", FoldNames(places, kSuspectsInVerdict));
  return out;
}

std::string NoFailureLine(const v1::Report& report) {
  return Cat("no failure found", report.title().empty() ? "" : Cat(": ", report.title()));
}

struct VerdictRow {
  std::string_view verdict;
  std::string (*line)(const v1::Report&);
};
constexpr VerdictRow kVerdicts[] = {
    {"named", NamedLine}, {"undetermined", UndeterminedLine}, {"no_failure", NoFailureLine}};

struct DeviceRow {
  std::string_view kind, name;
};
constexpr DeviceRow kDevices[] = {
    {"nic", "NIC"}, {"nvswitch", "NVSwitch"}, {"nvme", "NVMe device"}, {"pcie", "device"}};

std::string_view DeviceName(std::string_view kind) {
  for (const DeviceRow& row : kDevices) {
    if (row.kind == kind) return row.name;
  }
  return "GPU";
}

struct UnitRow {
  int64_t below_ns;
  double unit_ns;
  int digits;
  std::string_view name;
};
constexpr UnitRow kUnits[] = {{kSecondNs, 1e6, 0, " ms"},
                              {120 * kSecondNs, 1e9, 1, " s"},
                              {7200 * kSecondNs, 60e9, 1, " min"},
                              {INT64_MAX, 3600e9, 1, " h"}};

}  // namespace

std::string PlacePhrase(const v1::Place& place) {
  std::string out;
  const auto add = [&](std::string_view before, const auto& value) {
    out += Cat(out.empty() ? "" : " ", before, value);
  };
  if (place.has_rank()) {
    add("rank ", place.rank());
  } else if (place.has_local_rank()) {
    add("local rank ", place.local_rank());
  } else if (place.has_process() && place.has_pid()) {
    add("process ", Cat(place.process(), " (pid ", place.pid(), ")"));
  } else if (place.has_process() || place.has_pid()) {
    add("process ", place.has_process() ? place.process() : std::to_string(place.pid()));
  }
  if (place.has_host()) add(out.empty() ? "node " : "on node ", place.host());
  const v1::Device& device = place.device();
  const std::string which = device.has_index() ? std::to_string(device.index())
                            : device.has_pci() ? device.pci()
                                               : device.uuid();
  if (!which.empty()) {
    const std::string name = Cat(DeviceName(device.kind()), " ", which);
    out.empty() ? add("", name) : add("(", Cat(name, ")"));
  }
  return out.empty() ? "a place that the logs do not name" : out;
}

std::string VerdictLine(const v1::Report& report) {
  std::string out = Cat("unknown verdict '", report.verdict(), "'");
  for (const VerdictRow& row : kVerdicts) {
    if (row.verdict == report.verdict()) out = row.line(report);
  }
  if (report.state().finality() == "provisional") out += " (provisional: not all hosts have answered)";
  return out;
}

std::string LinePlace(const v1::EventView& event) {
  return event.has_line() ? Cat(event.source(), ':', event.line()) : event.source();
}

bool SameLine(const v1::EventView& a, const v1::EventView& b) {
  return a.source() == b.source() && a.line() == b.line() && a.byte_offset() == b.byte_offset();
}

bool AllRanksAlike(const v1::Report& report) {
  // More than half of them: the engine calls a fault common from 0.6 on. Those that were stopped before they
  // could fail are the rest.
  const auto roots = std::count_if(report.ranks().begin(), report.ranks().end(),
                                   [](const v1::RankView& rank) { return rank.has_rank() && rank.role() == "root"; });
  return report.verdict() == "named" && !report.initiator().has_rank() && roots * 2 > report.ranks_size();
}

std::vector<std::string> ClockSentences(const v1::Completeness& completeness) {
  const v1::HostClock* reference = nullptr;
  for (const v1::HostClock& clock : completeness.clocks()) {
    if (clock.aligned() && clock.host() == completeness.clock_reference()) reference = &clock;
  }
  if (reference == nullptr) return {};
  std::vector<std::string> out;
  const auto differs = [&](const v1::HostClock& clock, std::string_view at_least, int64_t off_ns) {
    return Cat(clock.host(), "'s clock is ", at_least, DurationPhrase(off_ns), off_ns > 0 ? " ahead of " : " behind ",
               reference->host(), "'s");
  };
  for (const v1::HostClock& clock : completeness.clocks()) {
    if (&clock == reference) continue;
    if (clock.has_offset_ns() && clock.has_zone_ns()) {
      const int64_t skew = clock.offset_ns() - clock.zone_ns();
      std::string sentence = Cat(clock.host(), "'s stamps are in another time zone, ", DurationPhrase(clock.zone_ns()),
                                 clock.zone_ns() > 0 ? " ahead of " : " behind ", reference->host(), "'s");
      if (std::abs(skew) > std::max(kClockOffNs, clock.uncertainty_ns())) {
        sentence += Cat(", and the clock is ", DurationPhrase(skew), skew > 0 ? " ahead" : " behind");
      }
      out.push_back(Cat(sentence, "."));
    } else if (clock.has_offset_ns()) {
      if (std::abs(clock.offset_ns()) <= std::max(kClockOffNs, clock.uncertainty_ns())) continue;
      out.push_back(Cat(differs(clock, "", clock.offset_ns()), "."));
    } else if (clock.has_offset_low_ns() && clock.offset_low_ns() > kClockOffNs) {
      out.push_back(Cat(differs(clock, "at least ", clock.offset_low_ns()), ": by its stamps effects precede their causes."));
    } else if (clock.has_offset_high_ns() && clock.offset_high_ns() < -kClockOffNs) {
      out.push_back(Cat(differs(clock, "at least ", clock.offset_high_ns()), ": by its stamps effects precede their causes."));
    }
  }
  std::map<std::string, std::vector<std::string>> contradicted;
  for (const v1::HostClock& clock : completeness.clocks()) {
    for (const std::string& sentence : clock.contradictions()) contradicted[sentence].push_back(clock.host());
  }
  for (const auto& [sentence, hosts] : contradicted) out.push_back(Cat("On ", FoldHosts(hosts), " ", sentence, "."));
  return out;
}

std::string DurationPhrase(int64_t ns) {
  const int64_t size = std::abs(ns);
  for (const UnitRow& row : kUnits) {
    if (size < row.below_ns) return Cat(Fixed(static_cast<double>(size) / row.unit_ns, row.digits), row.name);
  }
  return "";
}

}  // namespace firstfault
