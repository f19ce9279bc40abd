#include "correlate/correlate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "correlate/advice.h"
#include "correlate/clock_align.h"
#include "correlate/explain.h"
#include "correlate/first_warning.h"
#include "correlate/incident.h"
#include "correlate/known.h"
#include "correlate/labels.h"
#include "correlate/oom.h"
#include "correlate/parse/prefix.h"
#include "correlate/parse/stamp.h"
#include "correlate/rivals.h"
#include "correlate/suspects.h"
#include "correlate/text.h"
#include "correlate/utf8.h"
#include "correlate/version.h"
#include "correlate/weights.h"

namespace firstfault {
namespace {

constexpr size_t kHypothesesMax = 8, kTimelineMax = 24, kUnrelatedMax = 8;

std::string KindWord(SourceInfo::Kind kind) {
  switch (kind) {
    case SourceInfo::Kind::kRankLog: return "rank_log";
    case SourceInfo::Kind::kMergedLog: return "merged_log";
    case SourceInfo::Kind::kKernelLog: return "kernel_log";
    case SourceInfo::Kind::kLauncherLog: return "launcher_log";
    case SourceInfo::Kind::kFlightRecorder: return "flight_recorder";
    case SourceInfo::Kind::kUnknown: break;
  }
  return "unknown";
}

void SetText(std::string_view raw, v1::EventView* out) {
  bool lossy = false;
  out->set_text(ToUtf8(raw, &lossy));
  out->set_text_lossy(lossy);
}

// The line's own time: before its message, or in it ("CANCELLED AT ..."). Else what stands before it, and the
// event came after that. What has passed since another line is no time.
void SetStamp(const Event& event, v1::EventTime* out) {
  std::optional<Stamp> own = Peel(event.text).prefix.stamp;
  if (!own && event.prefix.stamp && event.text.find(Trim(event.prefix.stamp->text)) != std::string::npos) own = event.prefix.stamp;
  const std::string_view said = FieldOf(event.fields, "time");
  if (own && own->clock == Stamp::Clock::kDelta) return;
  if (!own && !said.empty() && event.text.find(said) != std::string::npos) return out->set_stamp(ToUtf8(said, nullptr));
  const std::optional<Stamp>& stamp = own ? own : event.prefix.stamp ? event.prefix.stamp : event.stamp_before;
  if (!stamp || stamp->clock == Stamp::Clock::kDelta) return;
  out->set_stamp(std::string(Trim(stamp->text)));
  out->set_after(!own);
}

v1::EventTime TimeView(const JobClock& clock, const PlacedEvent& placed) {
  v1::EventTime out;
  SetStamp(*placed.event, &out);
  const TimeBounds bounds = clock.BoundsOf(placed);
  if (bounds.earliest_ns) out.set_earliest_ns(*bounds.earliest_ns);
  if (bounds.latest_ns) out.set_latest_ns(*bounds.latest_ns);
  return out;
}

// What kind of device a line speaks of, where it is no GPU.
struct DeviceRow {
  std::string_view family;  // of signatures
  const char* kind;
};
constexpr DeviceRow kDevices[] = {{"sxid", "nvswitch"}, {"fm", "nvswitch"}, {"mlx5", "nic"}, {"net", "nic"},  {"efa", "nic"},
                                  {"nvme", "nvme"},     {"aer", "pcie"},    {"dpc", "pcie"}, {"pcie", "pcie"}};

const char* DeviceKind(const PlacedEvent* event) {
  if (event == nullptr) return nullptr;
  for (const DeviceRow& row : kDevices) {
    if (FamilyOf(event->id()) == row.family) return row.kind;
  }
  return nullptr;
}

// A switch serves all ranks of its host: none of them is its place.
bool IsSwitch(const PlacedEvent* event) {
  const char* kind = DeviceKind(event);
  return kind != nullptr && std::string_view(kind) == "nvswitch";
}

// `told_by`: the line that says what happened there, or nullptr. The index and address that are known of a rank
// are its GPU's: another device is where the line itself says.
v1::Place PlaceView(const Location& place, const PlacedEvent* told_by) {
  v1::Place out;
  const bool no_rank = IsSwitch(told_by);
  if (place.rank && !no_rank) out.set_rank(*place.rank);
  if (place.local_rank && !no_rank) out.set_local_rank(*place.local_rank);
  if (!place.host.empty()) out.set_host(place.host);
  // Decisions about jobs and nodes are told by a daemon: the pid is its own.
  const bool daemon = told_by != nullptr && !place.rank && (told_by->signature->fault_class == FaultClass::kScheduler || FamilyOf(told_by->id()) == "fm");
  if (place.pid && !no_rank && !daemon) out.set_pid(*place.pid);
  if (!place.process.empty()) out.set_process(ToUtf8(place.process, nullptr));
  for (const std::string& by : place.known_by) out.add_known_by(by);
  const char* kind = DeviceKind(told_by);
  if (kind != nullptr) {
    if (FieldOf(told_by->event->fields, "bus").empty()) return out;
    out.mutable_device()->set_kind(kind);
    out.mutable_device()->set_pci(ToUtf8(FieldOf(told_by->event->fields, "bus"), nullptr));
    return out;
  }
  if (place.device || !place.bus.empty() || !place.uuid.empty()) {
    v1::Device* device = out.mutable_device();
    device->set_kind("gpu");
    if (place.device) device->set_index(*place.device);
    if (!place.bus.empty()) device->set_pci(ToUtf8(place.bus, nullptr));
    if (!place.uuid.empty()) device->set_uuid(ToUtf8(place.uuid, nullptr));
  }
  return out;
}

v1::Place PlaceView(const Suspect& suspect) { return PlaceView(suspect.place, suspect.root); }

// The words of the line by which its signature knows it.
void SetMatch(const Catalogue& catalogue, const PlacedEvent& placed, v1::EventView* out) {
  const v1::Signature& row = placed.signature->row;
  const std::optional<uint32_t> index = catalogue.IndexOf(row.has_refines() ? row.refines().of() : row.id());
  const std::string& text = placed.event->text;
  if (!index || out->text_lossy()) return;
  for (const CompiledPattern& pattern : catalogue.patterns()) {
    re2::StringPiece words;
    if (pattern.signature != *index || !pattern.re().Match(text, 0, text.size(), RE2::UNANCHORED, &words, 1)) continue;
    out->set_match_begin(static_cast<int32_t>(words.data() - text.data()));
    out->set_match_size(static_cast<int32_t>(words.size()));
    return;
  }
}

v1::EventView View(const JobClock& clock, const PlacedEvent& placed, bool whole) {
  const Event& event = *placed.event;
  v1::EventView out;
  if (!placed.place.host.empty()) out.set_host(placed.place.host);
  out.set_source(ToUtf8(placed.source->info.path, nullptr));
  out.set_line(static_cast<int32_t>(event.at.line));
  out.set_byte_offset(static_cast<int64_t>(event.at.byte_offset));
  SetText(event.text, &out);
  if (whole) {
    for (const std::string& line : event.block) out.add_block(ToUtf8(line, nullptr));
    for (const std::string_view line : Lines(event.context)) out.add_context(ToUtf8(line, nullptr));
  }
  if (placed.place.rank && !IsSwitch(&placed)) out.set_rank(*placed.place.rank);
  out.set_signature(std::string(placed.id()));
  *out.mutable_time() = TimeView(clock, placed);
  out.set_count(static_cast<int32_t>(std::min<int64_t>(event.count, INT32_MAX)));
  return out;
}

v1::EventView View(const SourceDigest& source, const Position& at, std::string_view text, const Location& place) {
  v1::EventView out;
  if (!place.host.empty()) out.set_host(place.host);
  if (place.rank) out.set_rank(*place.rank);
  out.set_source(ToUtf8(source.info.path, nullptr));
  out.set_line(static_cast<int32_t>(at.line));
  out.set_byte_offset(static_cast<int64_t>(at.byte_offset));
  SetText(text, &out);
  out.set_count(1);
  return out;
}

v1::EventView WarningView(const JobClock& clock, const WarningLine& warning, const Location& place) {
  if (warning.event != nullptr) return View(clock, *warning.event, true);
  return View(*warning.source, warning.at, warning.text, place);
}

bool SamePlace(const Suspect& a, const Suspect& b) {
  if (a.all_ranks != b.all_ranks) return false;
  if (a.place.rank || b.place.rank) return a.place.rank == b.place.rank;
  return !a.place.host.empty() && a.place.host == b.place.host;
}

// What was not seen may hold another cause: ranks that the job should have and no log mentions.
double ConfidenceCap(const Incident& incident) {
  const size_t expected = static_cast<size_t>(std::max(incident.world_size.value_or(0), incident.ranks_expected));
  return incident.ranks.size() < expected ? weights::kConfidenceMissingRanks : weights::kConfidenceMax;
}

bool HostHolds(const Suspect& host, const Suspect& rank) {
  return !host.all_ranks && !rank.all_ranks && !host.place.rank && rank.place.rank && !host.place.host.empty() && host.place.host == rank.place.host;
}

// The best suspect, if it is likely enough and far enough ahead of every other place.
struct Decision {
  const Suspect* culprit = nullptr;
  double place = 0;         // probability that it is the best suspect's place
  double of_its_class = 0;  // the part of this that other lines there with a fault of the best one's class make up
};

Decision Decide(const std::vector<Suspect>& suspects) {
  Decision out;
  if (suspects.empty()) return out;
  const Suspect& best = suspects.front();
  // A line that tells no rank may be of any rank of its host: it speaks for one with a fault of the same class that
  // is as far ahead of the others there as a name has to be.
  const bool leads_host = std::none_of(suspects.begin(), suspects.end(), [&](const Suspect& other) {
    return best.place.rank && other.place.rank && other.place.host == best.place.host && !SamePlace(other, best) &&
           best.probability < weights::kNameAgainstNext * other.probability;
  });
  // Two faults at one place are one answer about the place, as are a host's and those of its ranks about the host.
  double next = 0;
  for (const Suspect& suspect : suspects) {
    if (&suspect == &best || SamePlace(suspect, best) || HostHolds(best, suspect) ||
        (leads_host && suspect.fault_class == best.fault_class && HostHolds(suspect, best))) {
      out.place += suspect.probability;
      if (&suspect != &best && suspect.fault_class == best.fault_class) out.of_its_class += suspect.probability;
    } else {
      next = std::max(next, suspect.probability);
    }
  }
  if (out.place < weights::kNameAt || out.place < weights::kNameAgainstNext * next) return out;
  const bool has_place = best.all_ranks || best.place.rank || !best.place.host.empty();
  if (has_place || best.root != nullptr) out.culprit = &best;
  return out;
}

// A cause of its own, elsewhere. A rank's is listed with its rank; the same fault on other ranks, and other lines
// about it in its log, belong to it.
bool IsUnrelated(const Suspect& culprit, const WarningLine& warning, const Suspect& other) {
  if (other.root == nullptr || other.root == culprit.root || other.root == warning.event || SamePlace(other, culprit)) return false;
  if (other.root->signature->role != Role::kInitiating || other.root->signature->row.accuses_peer() || other.place.rank) return false;
  const bool same_family = FamilyOf(other.signature) == FamilyOf(culprit.signature);
  return FromKernel(*other.root) || !same_family;
}

void FillCompleteness(const Incident& incident, const CorrelateOptions& options, v1::Completeness* out) {
  for (const std::string& host : incident.hosts) out->add_hosts_seen(ToUtf8(host, nullptr));
  if (incident.world_size) out->set_world_size(*incident.world_size);
  if (!incident.ranks.empty()) out->set_ranks_seen(static_cast<int32_t>(incident.ranks.size()));
  for (const SourceDigest* source : incident.sources) {
    v1::SourceView* view = out->add_sources();
    const SourceInfo& info = source->info;
    view->set_path(ToUtf8(info.path, nullptr));
    view->set_kind(KindWord(info.kind));
    std::string known;
    const auto add = [&](const char* name, const std::optional<Known>& fact) {
      if (fact) known += Cat(known.empty() ? "" : ", ", name, ": ", fact->by);
    };
    add("host", info.host);
    add("rank", info.rank);
    add("attempt", info.attempt);
    if (info.host) view->set_host(ToUtf8(info.host->value, nullptr));
    if (info.rank) {
      if (const auto rank = ParseNumber<int32_t>(info.rank->value)) view->set_rank(*rank);
    }
    if (info.stream) view->set_stream(info.stream->value);
    if (info.attempt) {
      if (const auto attempt = ParseNumber<int32_t>(info.attempt->value)) view->set_attempt(*attempt);
    }
    view->set_known_by(known);
    view->set_lines(source->lines);
    view->set_bytes(source->bytes);
    view->set_lines_cut(source->lines_cut);
    view->set_events_dropped(source->events_dropped);
  }
  for (const std::string& problem : options.input_problems) out->add_input_problems(ToUtf8(problem, nullptr));
  if (incident.left_out > 0) {
    out->add_input_problems(Cat(incident.left_out, " events were left out: another job, attempt or time"));
  }
  if (const int32_t more = ExpectedRanksBeyondList(incident); more > 0) {
    out->add_input_problems(Cat(more, " more expected ranks left no line and are not listed"));
  }
  for (const std::string& doubt : incident.window_doubts) out->add_input_problems(doubt);
}

void FillClocks(const JobClock& job, v1::Completeness* out) {
  if (!job.reference().empty()) out->set_clock_reference(ToUtf8(job.reference(), nullptr));
  for (const ClockEstimate& clock : job.estimates()) {
    v1::HostClock* view = out->add_clocks();
    view->set_host(ToUtf8(clock.host, nullptr));
    view->set_aligned(clock.aligned);
    view->set_method(clock.method);
    if (!clock.reason.empty()) view->set_reason(std::string(clock.reason));
    if (clock.low_ns) view->set_offset_low_ns(*clock.low_ns);
    if (clock.high_ns) view->set_offset_high_ns(*clock.high_ns);
    for (const std::string& sentence : clock.contradictions) view->add_contradictions(sentence);
    if (!clock.aligned) continue;
    view->set_offset_ns(clock.offset_ns);
    view->set_uncertainty_ns(std::max(*clock.high_ns - clock.offset_ns, clock.offset_ns - *clock.low_ns));
    if (clock.zone_ns != 0) view->set_zone_ns(clock.zone_ns);
  }
}

std::string WhyText(const Suspect& culprit) {
  std::vector<const Term*> terms;
  for (const Term& term : culprit.terms) {
    if (term.weight > 0) terms.push_back(&term);
  }
  std::stable_sort(terms.begin(), terms.end(), [](const Term* a, const Term* b) { return a->weight > b->weight; });
  std::string out;
  for (size_t i = 0; i < terms.size() && i < 4; ++i) out += Cat(i == 0 ? "" : "; ", ToUtf8(terms[i]->sentence, nullptr));
  return out;
}

v1::MemoryShortage MemoryView(const OomAnswer& answer) {
  const auto bytes = [](double value) { return static_cast<int64_t>(std::min(value, 9e18)); };
  const OomNumbers& n = answer.numbers;
  v1::MemoryShortage out;
  out.set_answer(std::string(Word(answer.shortage)));
  out.set_allocator(std::string(Word(answer.allocator)));
  if (n.asked) out.set_requested(bytes(*n.asked));
  if (n.free) out.set_free(bytes(*n.free));
  if (n.total) out.set_total(bytes(*n.total));
  if (n.allocated) out.set_allocated(bytes(*n.allocated));
  if (n.reserved_unallocated) out.set_reserved_unallocated(bytes(*n.reserved_unallocated));
  if (n.in_use) out.set_in_use(bytes(*n.in_use));
  if (n.limit) out.set_limit(bytes(*n.limit));
  if (answer.short_by) out.set_short_by(bytes(*answer.short_by));
  if (answer.held_by_others) out.set_held_by_others(bytes(*answer.held_by_others));
  for (const Holder& holder : n.holders) {
    v1::MemoryHolder* view = out.add_holders();
    view->set_pid(holder.pid);
    view->set_bytes(bytes(holder.bytes));
  }
  if (answer.recompilations > 0) out.set_recompilations(static_cast<int32_t>(std::min<int64_t>(answer.recompilations, INT32_MAX)));
  if (answer.own_last) out.set_own_last(bytes(*answer.own_last));
  if (answer.twins_last) out.set_twins_last(bytes(*answer.twins_last));
  for (const std::string& what : answer.missing) out.add_missing(what);
  out.set_sentence(answer.sentence);
  return out;
}

v1::Hypothesis HypothesisView(const Incident& incident, const Suspect& suspect) {
  v1::Hypothesis out;
  out.set_class_(std::string(Word(suspect.fault_class)));
  if (!suspect.signature.empty()) out.set_signature(suspect.signature);
  if (!suspect.all_ranks) *out.mutable_initiator() = PlaceView(suspect);
  out.set_probability(suspect.probability);
  for (const Term& term : suspect.terms) {
    std::string line = ToUtf8(term.sentence, nullptr);
    if (term.line.source != nullptr) line += Cat(" (", ToUtf8(term.line.source->info.path, nullptr), ":", term.line.at.line, ")");
    line += Cat(" [", term.name, " ", term.weight < 0 ? "" : "+", Fixed(term.weight, 1), "]");
    if (term.weight >= 0) {
      out.add_evidence_for(std::move(line));
    } else {
      out.add_evidence_against(std::move(line));
    }
  }
  if (const Signature* signature = incident.catalogue->Find(suspect.signature)) {
    const auto& codes = signature->row.check();
    if (const v1::Remedy* check = ControlOf(incident, {codes.begin(), codes.end()})) out.set_separating_control(check->command());
  }
  return out;
}

v1::Hypothesis RivalView(const Rival& rival, const v1::Place* place, double probability) {
  v1::Hypothesis out;
  out.set_class_(std::string(Word(rival.fault_class)));
  if (place != nullptr) *out.mutable_initiator() = *place;
  out.set_probability(probability);
  out.set_statement(rival.statement);
  for (const std::string& line : rival.evidence_for) out.add_evidence_for(ToUtf8(line, nullptr));
  for (const std::string& line : rival.evidence_against) out.add_evidence_against(line);
  out.set_separating_control(rival.control);
  for (const std::string& outcome : rival.reading) out.add_reading(outcome);
  return out;
}

// Every suspect, and the rivals of the leading one: its probability is shared among its readings, so that the
// best hypothesis stays the one that its own line states.
void FillHypotheses(const Incident& incident, const std::vector<Suspect>& suspects, v1::Report* report) {
  for (size_t i = 0; i < suspects.size() && i < kHypothesesMax; ++i) {
    *report->add_hypotheses() = HypothesisView(incident, suspects[i]);
  }
  std::string_view signature = suspects.empty() ? std::string_view() : suspects.front().signature;
  const double shared = suspects.empty() ? 1 : suspects.front().probability;
  const Location nowhere;
  const Location& place = suspects.empty() ? nowhere : suspects.front().place;
  if (suspects.empty()) {
    // Only effects: the first wait has rivals of its own.
    for (const PlacedEvent& event : incident.events) {
      if (event.signature->role == Role::kCollateral && signature.empty()) signature = event.id();
    }
  }
  const std::vector<Rival> rivals = RivalsOf(incident, signature, place);
  if (rivals.empty()) return;
  double total = suspects.empty() ? 0 : 1;
  for (const Rival& rival : rivals) total += rival.weight;
  const v1::Place view = suspects.empty() ? v1::Place() : PlaceView(suspects.front());
  const bool placed = !suspects.empty() && !suspects.front().all_ranks && (place.rank || !place.host.empty());
  if (!suspects.empty()) report->mutable_hypotheses(0)->set_probability(shared / total);
  for (const Rival& rival : rivals) {
    *report->add_hypotheses() = RivalView(rival, placed ? &view : nullptr, shared * rival.weight / total);
  }
  // The leading reading first, whatever it shares; then by probability.
  std::stable_sort(report->mutable_hypotheses()->begin() + (suspects.empty() ? 0 : 1), report->mutable_hypotheses()->end(),
                   [](const v1::Hypothesis& a, const v1::Hypothesis& b) { return a.probability() > b.probability(); });
  while (report->hypotheses_size() > static_cast<int>(kHypothesesMax)) report->mutable_hypotheses()->RemoveLast();
}

// The chain as it is known: the first warning, the root, then the first effect at each other place. Cause stands
// before effect whatever clocks say; effects stand by the job's time, those without one behind, as in the logs.
void FillTimeline(const Incident& incident, const JobClock& clock, const Suspect& culprit, const WarningLine& warning, v1::Report* report) {
  const auto add = [&](const PlacedEvent& event, const std::string& reason) {
    if (report->timeline_size() >= static_cast<int>(kTimelineMax)) return;
    v1::TimelineStep* step = report->add_timeline();
    *step->mutable_time() = TimeView(clock, event);
    *step->mutable_place() = PlaceView(event.place, &event);
    step->set_what(event.signature->row.title());
    step->set_reason(reason);
  };
  if (warning.event != nullptr && warning.event != culprit.root) add(*warning.event, warning.rule);
  if (culprit.root != nullptr) add(*culprit.root, "the first fault");
  std::set<std::string> places;
  std::vector<std::pair<int64_t, const PlacedEvent*>> effects;
  for (const PlacedEvent& event : incident.events) {
    if (event.signature->role != Role::kCollateral && event.signature->role != Role::kTeardown) continue;
    if (!places.insert(PlaceName(event.place, false, event.source)).second) continue;
    const TimeBounds bounds = clock.BoundsOf(event);
    const bool both = bounds.earliest_ns && bounds.latest_ns;
    effects.emplace_back(both ? *bounds.earliest_ns + (*bounds.latest_ns - *bounds.earliest_ns) / 2 : INT64_MAX, &event);
  }
  std::stable_sort(effects.begin(), effects.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [middle, event] : effects) {
    add(*event, event->signature->role == Role::kTeardown ? "told to stop" : "an effect");
  }
}

// The end of the run may be missing although nothing failed: killed without a word, hung, still running, or in a
// part of a log that could not be read.
void FillNoFailure(const Incident& incident, const CorrelateOptions& options, v1::Report* report) {
  // A handled exception, an attempt that was repeated, noise on the way out.
  const bool survived = std::any_of(incident.events.begin(), incident.events.end(), [](const PlacedEvent& event) {
    return event.signature->role > Role::kPrecursor && event.signature->severity >= Severity::kError;
  });
  const std::string nothing = survived ? "the job survived the errors in these logs" : "no line in these logs says that the job failed";
  RunEnd end = EndOf(incident);
  if (options.running) end.behind.clear();
  std::string doubt = end.behind;
  if (doubt.empty() && !end.completed && options.broken_off > 0) {
    doubt = Cat(options.broken_off, options.broken_off == 1 ? " log" : " logs", " could not be read to the end");
  }
  report->set_verdict(doubt.empty() ? "no_failure" : "undetermined");
  report->set_class_(doubt.empty() ? "none" : "undetermined");
  // An end that was not seen may hold what ranks that were not seen may.
  report->set_confidence(end.completed ? weights::kConfidenceMax : doubt.empty() ? weights::kConfidenceMissingRanks : 0);
  report->mutable_state()->set_state(end.completed ? "ended" : end.behind.empty() ? "running" : "stalled");
  for (const Label& label : LabelRanks(incident, nullptr)) {
    v1::RankView* view = report->add_ranks();
    if (label.rank) view->set_rank(*label.rank);
    if (!label.host.empty()) view->set_host(ToUtf8(label.host, nullptr));
    view->set_role("no_evidence");
    view->set_because("no failure in these logs");
  }
  report->set_title(end.sentence);
  if (end.completed) {
    report->set_restart("Nothing in these logs stands against it.");
    report->set_why(Cat(nothing, ", and its work was completed"));
    return;
  }
  if (!doubt.empty()) {
    report->set_why(Cat(survived ? nothing : "no line says that the job failed", ", but ", doubt));
    for (const std::string& line : WhatIsKnown(incident)) report->add_known(line);
  } else {
    report->set_why(Cat(nothing, ", and no line says that it was completed"));
  }
  report->set_restart("Find out first whether it still runs: these logs do not show how it ended.");
  for (const std::string& line : WouldSettle(incident, {})) report->add_would_settle(line);
  report->mutable_advice()->set_summary("These logs stop without an end: the job was killed without a word, hung, or still runs. Look for its process, its launcher's last lines and exit code, and what would settle it below.");
}

}  // namespace

v1::Report Correlate(const Engine& engine, const std::vector<SourceDigest>& sources, const CorrelateOptions& options) {
  const Incident incident = BuildIncident(*engine.catalogue, sources, options);
  v1::Report report;
  report.set_schema_version(1);
  report.set_engine_version(kVersion);
  report.set_job(ToUtf8(incident.job, nullptr));
  if (incident.attempt) report.set_attempt(*incident.attempt);
  const JobClock clock(incident);
  FillCompleteness(incident, options, report.mutable_completeness());
  FillClocks(clock, report.mutable_completeness());
  report.mutable_state()->set_finality("final");

  if (!AnythingFailed(incident)) {
    FillNoFailure(incident, options, &report);
    return report;
  }
  report.mutable_state()->set_state("failed");

  std::vector<Suspect> suspects = FindSuspects(incident, clock);
  for (Suspect& suspect : suspects) {
    if (!IsSwitch(suspect.root)) continue;
    suspect.place.rank.reset();
    suspect.ranks.clear();
  }
  const Decision decision = Decide(suspects);
  const Suspect* culprit = decision.culprit;
  report.set_confidence(std::min(decision.place, ConfidenceCap(incident)));
  FillHypotheses(incident, suspects, &report);

  if (culprit != nullptr) {
    report.set_verdict("named");
    report.set_class_(std::string(Word(culprit->fault_class)));
    // What rivals took of the leading reading is not of its class.
    const double of_class = report.hypotheses(0).probability() + decision.of_its_class;
    if (culprit->fault_class != FaultClass::kUndetermined) report.set_class_confidence(std::min(of_class, report.confidence()));
    if (!culprit->signature.empty()) report.set_signature(culprit->signature);
    if (const Signature* row = incident.catalogue->Find(culprit->signature)) report.set_title(row->row.title());
    if (report.job().empty() && culprit->root != nullptr) {
      // "41820077.0": the job, without its step.
      const std::string_view job = FieldOf(culprit->root->event->fields, "job");
      report.set_job(ToUtf8(job.substr(0, job.find('.')), nullptr));
    }
    // All ranks alike: no place, unless they share the only host.
    const bool has_place = culprit->place.rank || !culprit->place.host.empty();
    if (has_place) {
      *report.mutable_initiator() = PlaceView(*culprit);
      *report.add_suspects() = PlaceView(*culprit);
    }
    const WarningLine warning = FindFirstWarning(incident, *culprit);
    if (culprit->root != nullptr) {
      *report.mutable_root() = View(clock, *culprit->root, true);
      SetMatch(*engine.catalogue, *culprit->root, report.mutable_root());
    } else if (culprit->words_source != nullptr) {
      *report.mutable_root() = View(*culprit->words_source, culprit->words_at, culprit->words, culprit->place);
    }
    if (warning.source != nullptr) *report.mutable_first_warning() = WarningView(clock, warning, culprit->place);
    if (warning.event != nullptr) SetMatch(*engine.catalogue, *warning.event, report.mutable_first_warning());
    if (warning.event != nullptr && culprit->root != nullptr) {
      if (const auto lead_ns = clock.Lead(*warning.event, *culprit->root)) report.set_warning_lead_ns(*lead_ns);
    }
    const std::optional<OomAnswer> oom = ExplainOom(incident, *culprit);
    if (oom) *report.mutable_memory() = MemoryView(*oom);
    *report.mutable_advice() = AdviseOn(incident, *culprit, oom);
    report.set_restart(RestartLine(incident, *culprit));
    if (culprit->fault_class == FaultClass::kUndetermined) {
      for (const std::string& line : WouldSettle(incident, suspects)) report.add_would_settle(line);
    }
    report.set_why(oom ? Cat(oom->sentence, "; ", WhyText(*culprit)) : WhyText(*culprit));
    FillTimeline(incident, clock, *culprit, warning, &report);
    for (const Suspect& suspect : suspects) {
      if (!IsUnrelated(*culprit, warning, suspect) || report.unrelated_size() >= static_cast<int>(kUnrelatedMax)) continue;
      SetMatch(*engine.catalogue, *suspect.root, &(*report.add_unrelated() = View(clock, *suspect.root, false)));
    }
  } else {
    report.set_verdict("undetermined");
    report.set_class_("undetermined");
    for (const Suspect& suspect : suspects) {
      const double kept = suspects.front().probability / 10;  // a tenth of the best still counts as possible
      if (suspect.probability >= kept && !suspect.all_ranks) *report.add_suspects() = PlaceView(suspect);
    }
    for (const std::string& line : WouldSettle(incident, suspects)) report.add_would_settle(line);
    v1::Advice* advice = report.mutable_advice();
    advice->set_summary("These logs do not decide who failed first. Collect the following and run the diagnosis again.");
    for (const std::string& line : report.would_settle()) advice->add_changes(line);
    report.set_restart("Possible, but the cause is not known: restart with the evidence below being collected.");
    report.set_why(suspects.empty()                ? "only effects were seen, no cause"
                   : report.suspects_size() > 1 ? "no suspect is far enough ahead of the others"
                                                : "what speaks for the one suspect is too weak to name it");
    for (const std::string& line : WhatIsKnown(incident)) report.add_known(line);
    for (const PlacedEvent& event : incident.events) {
      if (event.signature->role <= Role::kPrecursor || event.signature->severity < Severity::kError) continue;
      *report.mutable_first_warning() = View(clock, event, true);
      SetMatch(*engine.catalogue, event, report.mutable_first_warning());
      break;
    }
  }
  for (const Label& label : LabelRanks(incident, culprit)) {
    v1::RankView* view = report.add_ranks();
    if (label.rank) view->set_rank(*label.rank);
    if (!label.host.empty()) view->set_host(ToUtf8(label.host, nullptr));
    view->set_role(label.role);
    view->set_because(ToUtf8(label.because, nullptr));
    if (label.event != nullptr) *view->mutable_event() = View(clock, *label.event, false);
  }
  return report;
}

}  // namespace firstfault
