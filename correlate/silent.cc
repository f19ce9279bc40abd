#include "correlate/silent.h"

#include <algorithm>
#include <map>
#include <set>

#include "correlate/evidence.h"
#include "correlate/text.h"
#include "correlate/weights.h"

namespace firstfault {
namespace {

// What the last words of a silent rank say about its phase. First match wins.
struct Phase {
  std::string_view word;  // in lower case
  std::string_view signature;
};
constexpr Phase kPhases[] = {
    // left the training loop: out of batches, validating alone
    {"exhausted", "derived.left_loop"},     {"validat", "derived.left_loop"},
    {"evaluat", "derived.left_loop"},       {"end of epoch", "derived.left_loop"},
    {"finished epoch", "derived.left_loop"},
    // a long phase of its own
    {"tokeniz", "derived.busy_phase"},      {"preprocess", "derived.busy_phase"},
    {"saving", "derived.busy_phase"},       {"checkpoint", "derived.busy_phase"},
    {"download", "derived.busy_phase"},     {"compil", "derived.busy_phase"},
    {"building", "derived.busy_phase"},     {"converting", "derived.busy_phase"},
    {"merging", "derived.busy_phase"},      {"uploading", "derived.busy_phase"},
};

// Complaints lead on: who is complained of and complains of another was waiting for that one. Where all of them lead
// to one end, it; no answer where there are several ends, or a circle. `accuses`: who names whom.
template <typename Key>
std::optional<Key> EndOfComplaints(const std::map<Key, std::set<Key>>& accuses) {
  std::map<Key, std::vector<Key>> accusers;
  std::map<Key, size_t> unresolved;  // how many of those that one names are not yet known to lead to the end
  std::optional<Key> end;
  for (const auto& [accuser, named] : accuses) {
    unresolved[accuser] = named.size();
    for (const Key& key : named) {
      accusers[key].push_back(accuser);
      if (accuses.contains(key)) continue;
      if (end && *end != key) return std::nullopt;
      end = key;
    }
  }
  if (!end) return std::nullopt;
  std::vector<Key> resolved = {*end};
  for (size_t i = 0; i < resolved.size(); ++i) {
    const Key key = resolved[i];
    for (const Key& accuser : accusers[key]) {
      if (--unresolved[accuser] == 0) resolved.push_back(accuser);
    }
  }
  return resolved.size() == accuses.size() + 1 ? end : std::nullopt;
}

class Silent {
 public:
  Silent(const Incident& incident, std::vector<Suspect>* suspects)
      : incident_(incident), suspects_(*suspects), waiters_(WaitersOf(incident)), raised_from_effect_(RaisedFromEffect(incident)) {}

  void Run() {
    AccusedRanks();
    AccusedHosts();
    OneSilentRank();
    BehindInGroup();
    OtherCall();
    SilentHost();
    QuietEndOfComplaints();
    EndedWithoutReason();
    EndedBesideWaiters();
    OnlyEnd();
  }

 private:
  Suspect* ForRank(int32_t rank) {
    for (Suspect& suspect : suspects_) {
      if (suspect.place.rank == rank) return &suspect;
    }
    return nullptr;
  }
  Suspect* ForHost(const std::string& host) {
    for (Suspect& suspect : suspects_) {
      if (!suspect.place.host.empty() && suspect.place.host == host) return &suspect;
    }
    return nullptr;
  }

  Suspect* Add(int32_t rank) {
    Suspect& suspect = suspects_.emplace_back();
    suspect.place.rank = rank;
    suspect.ranks = {rank};
    const auto facts = incident_.ranks.find(rank);
    if (facts != incident_.ranks.end()) {
      suspect.place.host = facts->second.host;
      suspect.place.local_rank = facts->second.local_rank;
      suspect.place.pid = facts->second.pid;
      if (facts->second.last_words != nullptr) {
        suspect.words = facts->second.last_words->last_text;
        suspect.words_at = facts->second.last_words->last_at;
        suspect.words_source = facts->second.last_words_source;
      }
    }
    suspect.place.known_by.push_back("rank: named by others");
    return &suspect;
  }

  void Sign(Suspect* suspect, std::string_view signature) const {
    suspect->signature = std::string(signature);
    const Signature* row = incident_.catalogue->Find(signature);
    if (row != nullptr) suspect->fault_class = row->fault_class;
  }

  void SetRoot(Suspect* suspect, const PlacedEvent* event) const {
    suspect->root = event;
    suspect->own = {event};
    Sign(suspect, event->id());
  }

  // --- ranks that lines of others name as the cause
  void AccusedRanks() {
    std::map<int32_t, std::vector<const PlacedEvent*>> accusers;
    std::map<int32_t, std::set<int32_t>> accuses;
    for (const PlacedEvent& event : incident_.events) {
      if (!event.accuses || event.signature->role < Role::kCollateral || IsEndReport(event.id())) continue;
      for (int32_t rank : event.accused_ranks) {
        if (event.place.rank == rank) continue;
        accusers[rank].push_back(&event);
        if (event.place.rank) accuses[*event.place.rank].insert(rank);
      }
    }
    // Who only hands the complaint on is no suspect.
    if (const std::optional<int32_t> end = EndOfComplaints(accuses)) {
      for (auto it = accusers.begin(); it != accusers.end();) {
        const bool hands_on = it->first != *end && accuses.contains(it->first) && ForRank(it->first) == nullptr;
        if (hands_on) accusers[*end].insert(accusers[*end].end(), it->second.begin(), it->second.end());
        it = hands_on ? accusers.erase(it) : std::next(it);
      }
    }
    for (auto& [rank, events] : accusers) {
      Suspect* suspect = ForRank(rank);
      if (suspect == nullptr) {
        suspect = Add(rank);
        // The line that accuses most directly leads.
        const auto lead = std::max_element(events.begin(), events.end(), [](const PlacedEvent* a, const PlacedEvent* b) {
          return a->signature->role < b->signature->role;
        });
        SetRoot(suspect, *lead);
      }
      std::set<std::string> places;
      for (const PlacedEvent* event : events) places.insert(KeyOf(*event));
      const int count = std::min<int>(static_cast<int>(places.size()), weights::kAccusersMax);
      suspect->Add("accused_rank", weights::kAccusedRank * count,
                   Cat(Counted(places.size(), "other place"), places.size() == 1 ? " names" : " name", " rank ", rank, ", first: ",
                       Quote(events.front()->event->text)),
                   CitedLine(events.front()));
      if (const PlacedEvent* compile = PrecursorOf(rank, "jax.slow_")) {
        Sign(suspect, "derived.slow_compile");
        suspect->Add("busy_elsewhere", weights::kBusyElsewhere,
                     Cat("rank ", rank, " was alive and compiling: ", Quote(compile->event->text)), CitedLine(compile));
      }
      if (std::binary_search(waiters_.begin(), waiters_.end(), rank)) AddWaiting(suspect, rank);
    }
  }

  static void AddWaiting(Suspect* suspect, int32_t rank) {
    if (suspect->Has("accused_but_waiting")) return;
    suspect->Add("accused_but_waiting", weights::kAccusedButWaiting,
                 Cat("rank ", rank, " reports a time-out itself, so it was waiting too"));
  }

  const PlacedEvent* PrecursorOf(int32_t rank, std::string_view family) const {
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role == Role::kPrecursor && event.place.rank == rank && event.id().starts_with(family)) {
        return &event;
      }
    }
    return nullptr;
  }

  // --- hosts that connection errors elsewhere name
  void AccusedHosts() {
    struct View {
      std::set<std::string> places, hosts;
      const PlacedEvent* lead = nullptr;
    };
    std::map<std::string, View> accused;
    for (const PlacedEvent& event : incident_.events) {
      if (IsEndReport(event.id())) continue;
      for (const std::string& host : event.accused_hosts) {
        if (event.place.host == host) continue;
        View& view = accused[host];
        view.places.insert(KeyOf(event));
        view.hosts.insert(event.place.host);
        if (view.lead == nullptr || event.signature->role > view.lead->signature->role) view.lead = &event;
      }
    }
    for (const auto& [host, view] : accused) {
      const int count = std::min<int>(static_cast<int>(view.places.size()), weights::kAccusersMax);
      Suspect* suspect = ForHost(host);
      // What a host says when it is told to stop is not what the others complain of.
      if (suspect != nullptr && IsStopSignal(suspect->signature)) suspect = nullptr;
      if (suspect == nullptr) {
        // A closed connection alone names no cause; a line that may be one (retries exceeded, no route, a
        // node that failed) does, where a host says it, or two places do.
        const Role role = view.lead->signature->role;
        if (role < Role::kAmbiguous || (role == Role::kAmbiguous && view.places.size() < 2)) continue;
        suspect = &suspects_.emplace_back();
        suspect->place.host = host;
        suspect->place.known_by.push_back("host: named by others");
        SetRoot(suspect, view.lead);
        if (view.places.size() >= 2 && role == Role::kAmbiguous) {
          suspect->Add("named_by_several", weights::kNamedBySeveral, "several places name it with lines that can be a cause");
        }
        if (role == Role::kInitiating) {
          suspect->Add("accused_by_cause", weights::kInitiating, Cat("a line that states a cause names it: ", Quote(view.lead->event->text)),
                       CitedLine(view.lead));
        }
      }
      suspect->Add("accused_host", weights::kAccusedHost * count,
                   Cat("errors at ", Counted(view.places.size(), "other place"), view.places.size() == 1 ? " names" : " name", " host ", host), CitedLine(view.lead));
    }
  }

  // --- the one rank that did not complain
  void OneSilentRank() {
    std::vector<int32_t> silent = SilentRanks(incident_, "");
    // A rank that saw its peer leave a collective was in that collective: it waited too.
    std::vector<int32_t> mute;
    std::copy_if(silent.begin(), silent.end(), std::back_inserter(mute), [&](int32_t rank) { return !raised_from_effect_.contains(rank); });
    if (mute.size() == 1) silent = mute;
    if (silent.empty() || silent.size() > 2) return;
    // One waiter against one silent rank says little by itself; a phase seen at work beside it says more.
    const bool many = waiters_.size() >= 2 * silent.size();
    const double weight = many && silent.size() == 1 ? weights::kOnlyOneSilent : weights::kFewSilent;
    for (int32_t rank : silent) {
      Suspect* suspect = ForRank(rank);
      if (suspect == nullptr) {
        if (!many && BarBesideWait(rank).second == nullptr) continue;
        suspect = Add(rank);
        Sign(suspect, "derived.silent");
      }
      suspect->Add("only_one_silent", weight,
                   Cat(Counted(waiters_.size(), "rank"), " timed out waiting; rank ", rank, " did not report it"));
      if (suspect->root == nullptr && silent.size() == 1) ReadPhase(suspect);
    }
  }

  // --- a host none of whose ranks complained, where those of the others did
  void SilentHost() {
    std::set<std::string> hosts, waiting;
    const std::vector<int32_t> silent = SilentRanks(incident_, "");
    for (int32_t rank : silent) {
      const auto facts = incident_.ranks.find(rank);
      hosts.insert(facts == incident_.ranks.end() ? "" : facts->second.host);
    }
    for (int32_t rank : waiters_) {
      const auto facts = incident_.ranks.find(rank);
      waiting.insert(facts == incident_.ranks.end() ? "" : facts->second.host);
    }
    if (silent.size() < 2 || hosts.size() != 1 || hosts.contains("") || waiting.contains("") || waiting.contains(*hosts.begin())) return;
    Suspect* suspect = ForHost(*hosts.begin());
    // The silence of one of its ranks is the same observation: it counts once.
    if (suspect != nullptr && suspect->Has("only_one_silent")) return;
    if (suspect == nullptr) {
      suspect = &suspects_.emplace_back();
      suspect->place.host = *hosts.begin();
      suspect->place.known_by.push_back("host: none of its ranks timed out");
      Sign(suspect, "derived.silent");
      suspect->fault_class = FaultClass::kUndetermined;
    }
    suspect->Add("silent_host", weights::kFewSilent,
                 Cat(Counted(waiters_.size(), "rank"), " timed out waiting; none of the ", silent.size(), " ranks on ", *hosts.begin(), " reported it"));
  }

  // --- a host whose log just ends, and to which the broken connections of all others lead
  void QuietEndOfComplaints() {
    std::map<std::string, std::set<std::string>> accuses;
    std::set<std::string> places, troubled;
    for (const PlacedEvent& event : incident_.events) {
      if (event.signature->role < Role::kTeardown) continue;
      troubled.insert(event.place.host);
      if (event.place.host.empty() || IsEndReport(event.id())) continue;
      for (const std::string& host : event.accused_hosts) {
        if (host == event.place.host || !incident_.hosts.contains(host)) continue;
        accuses[event.place.host].insert(host);
        places.insert(KeyOf(event));
      }
    }
    // One complaint is too few to point at anybody.
    const std::optional<std::string> end = accuses.size() < 2 ? std::nullopt : EndOfComplaints(accuses);
    const bool heard = end && std::any_of(incident_.ranks.begin(), incident_.ranks.end(), [&](const auto& rank) {
      return rank.second.host == *end && rank.second.last_words != nullptr;
    });
    if (!heard || troubled.contains(*end) || ForHost(*end) != nullptr) return;
    Suspect* suspect = &suspects_.emplace_back();
    suspect->place.host = *end;
    suspect->place.known_by.push_back("host: all broken connections lead to it");
    Sign(suspect, "derived.silent");
    const int count = std::min<int>(static_cast<int>(places.size()), weights::kAccusersMax);
    suspect->Add("accused_host", weights::kAccusedHost * count, Cat("errors at ", Counted(places.size(), "other place"), places.size() == 1 ? " leads" : " lead", " to host ", *end));
    suspect->Add("quiet_end", weights::kFewSilent, Cat(accuses.size(), " hosts lost connections; the logs of ", *end, " just end"));
  }

  // Ranks that raised from an effect of somebody else's fault.
  static std::set<int32_t> RaisedFromEffect(const Incident& incident) {
    std::set<int32_t> out;
    for (const PlacedEvent& event : incident.events) {
      const bool effect = event.event->in_traceback && event.signature->role == Role::kCollateral;
      if (effect && event.place.rank) out.insert(*event.place.rank);
    }
    return out;
  }

  // A progress bar that a silent rank may have drawn when the others gave up, and the log it is in.
  std::pair<const SourceDigest*, const Progress*> BarBesideWait(int32_t rank) const {
    // Lines around the first time-out in which a bar still counts as drawn at that time.
    constexpr int64_t kNear = 8;
    for (const PlacedEvent& event : incident_.events) {
      if (!IsWaiter(event.id())) continue;
      const Progress* last = nullptr;
      for (const Progress& progress : event.source->progress) {
        if (!progress.bar || (progress.rank && progress.rank != rank)) continue;
        if (progress.at.line > event.event->at.line) break;
        last = &progress;
      }
      if (last == nullptr) continue;
      // A traceback stands between the bar and the line that names the wait.
      const int64_t gap = int64_t{event.event->at.line} - last->at.line;
      if (gap <= kNear + static_cast<int64_t>(event.event->block.size())) return {event.source, last};
    }
    return {nullptr, nullptr};
  }

  void ReadPhase(Suspect* suspect) const {
    const auto [source, bar] = BarBesideWait(*suspect->place.rank);
    if (bar != nullptr) {
      suspect->words = bar->text;
      suspect->words_at = bar->at;
      suspect->words_source = source;
      Sign(suspect, "derived.busy_phase");
      suspect->Add("busy_elsewhere", weights::kBusyElsewhere,
                   Cat("somebody was still working while the others waited: ", Quote(bar->text)), CitedLine(source, bar->at));
      return;
    }
    std::string lower = suspect->words;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const Phase& phase : kPhases) {
      if (lower.find(phase.word) == std::string::npos) continue;
      Sign(suspect, phase.signature);
      suspect->Add("busy_elsewhere", weights::kBusyElsewhere, Cat("its last words tell another phase: ", Quote(suspect->words)),
                   CitedLine(suspect->words_source, suspect->words_at));
      return;
    }
  }

  // --- per group: who enqueued less, or something else
  void BehindInGroup() {
    // A metric is a handful of numbers; a gradient bucket is thousands to millions.
    constexpr int64_t kScalarElements = 8, kGradientElements = 1024;
    struct View {
      std::set<int32_t> ranks;
      const PlacedEvent* first = nullptr;
      int64_t elements = INT64_MAX;
    };
    // A send or a receive counts for the two ranks that make it: numbers of a group that makes them do not compare.
    std::set<std::pair<int32_t, std::string_view>> between_two;  // rank and number
    std::set<std::string_view> uncounted;                        // groups
    for (const PlacedEvent& event : incident_.events) {
      const Fields& fields = event.event->fields;
      if (event.place.rank && IsPointToPoint(FieldOf(fields, "op"))) between_two.emplace(*event.place.rank, FieldOf(fields, "seq"));
    }
    std::map<int32_t, std::set<std::string_view>> waits_in;         // rank -> groups
    std::map<std::string, std::map<int64_t, View>> enqueued;        // group -> last enqueued -> who
    std::map<std::string, std::map<std::string, View>> operations;  // group and number -> operation -> who
    for (const PlacedEvent& event : incident_.events) {
      if (!event.place.rank) continue;
      const Fields& fields = event.event->fields;
      const std::string& group = event.event->prefix.group;
      if (IsWaiter(event.id()) && !group.empty()) waits_in[*event.place.rank].insert(group);
      if (const auto number = ParseNumber<int64_t>(FieldOf(fields, "enqueued"))) {
        View& view = enqueued[group][*number];
        view.ranks.insert(*event.place.rank);
        if (view.first == nullptr) view.first = &event;
        if (between_two.contains({*event.place.rank, FieldOf(fields, "failed_work")})) uncounted.insert(group);
      }
      const std::string_view seq = FieldOf(fields, "seq"), op = FieldOf(fields, "op");
      if (!IsWaiter(event.id()) || seq.empty() || op.empty() || IsPointToPoint(op)) continue;
      View& view = operations[Cat(group, "\n", seq)]
                             [Cat(op, " of ", FieldOf(fields, "numel_in"), " elements")];
      view.ranks.insert(*event.place.rank);
      view.elements = ParseNumber<int64_t>(FieldOf(fields, "numel_in")).value_or(INT64_MAX);
      if (view.first == nullptr) view.first = &event;
    }
    for (const auto& [group, numbers] : enqueued) {
      if (numbers.size() < 2 || uncounted.contains(group)) continue;
      const auto& [lowest, behind] = *numbers.begin();
      size_t others = 0;
      for (const auto& [number, view] : numbers) others += number != lowest ? view.ranks.size() : 0;
      if (behind.ranks.size() > others) continue;  // the majority is not behind
      for (int32_t rank : behind.ranks) {
        Suspect* suspect = ForRank(rank);
        if (suspect == nullptr) {
          suspect = Add(rank);
          SetRoot(suspect, behind.first);
          Sign(suspect, "derived.behind");
        }
        suspect->Add("behind_in_group", weights::kBehindInGroup / static_cast<double>(behind.ranks.size()),
                     Cat("rank ", rank, " had enqueued only ", lowest, " collectives, the others up to ",
                         numbers.rbegin()->first),
                     CitedLine(behind.first));
        // Who hangs in its own group's collective says so as well; who waits in another group is held up there.
        const std::set<std::string_view>& groups = waits_in[rank];
        if (!group.empty() && groups.size() > groups.count(group)) AddWaiting(suspect, rank);
      }
    }
    for (const auto& [key, views] : operations) {
      if (views.size() < 2) continue;
      // The minority is the one on another path; two against one another stay both suspects.
      size_t fewest = SIZE_MAX;
      int64_t most_elements = 0;
      for (const auto& [operation, view] : views) {
        fewest = std::min(fewest, view.ranks.size());
        if (view.elements != INT64_MAX) most_elements = std::max(most_elements, view.elements);
      }
      for (const auto& [operation, view] : views) {
        if (view.ranks.size() != fewest) continue;
        for (int32_t rank : view.ranks) {
          Suspect* suspect = ForRank(rank);
          if (suspect == nullptr) {
            suspect = Add(rank);
            SetRoot(suspect, view.first);
            Sign(suspect, "derived.other_operation");
          }
          if (suspect->Has("other_operation")) continue;
          suspect->Add("other_operation", weights::kOtherOperation / static_cast<double>(view.ranks.size()),
                       Cat("rank ", rank, " waited in ", operation, " where others had another operation or size"),
                       CitedLine(view.first));
          if (view.elements <= kScalarElements && most_elements >= kGradientElements) {
            suspect->Add("scalar_among_gradients", weights::kScalarAmongGradients,
                         "it reduces a single number, as metrics and validation do, while others reduce gradients");
          }
        }
      }
    }
  }

  // --- waiters without numbers: the stack says which collective each stood in
  void OtherCall() {
    struct View {
      std::set<int32_t> ranks;
      const PlacedEvent* first = nullptr;
    };
    std::map<std::string_view, View> calls;
    for (const PlacedEvent& event : incident_.events) {
      const std::string_view call = FieldOf(event.event->fields, "call");
      if (!IsWaiter(event.id()) || call.empty() || !event.place.rank || !FieldOf(event.event->fields, "seq").empty()) continue;
      View& view = calls[call];
      view.ranks.insert(*event.place.rank);
      if (view.first == nullptr || view.first->event->prefix.launcher) view.first = &event;
    }
    const auto by_size = [](const auto& a, const auto& b) { return a.second.ranks.size() < b.second.ranks.size(); };
    const auto most = std::max_element(calls.begin(), calls.end(), by_size);
    // One rank against two or more that agree; otherwise nobody knows which is the common path.
    if (calls.size() != 2 || most->second.ranks.size() < 2) return;
    const auto& [call, odd] = *std::min_element(calls.begin(), calls.end(), by_size);
    if (odd.ranks.size() != 1) return;
    const int32_t rank = *odd.ranks.begin();
    Suspect* suspect = ForRank(rank);
    if (suspect == nullptr) {
      suspect = Add(rank);
      SetRoot(suspect, odd.first);
      Sign(suspect, "derived.other_operation");
    }
    suspect->Add("other_operation", weights::kOtherOperation,
                 Cat("rank ", rank, " waited in ", call, ", ", most->second.ranks.size(), " others in ", most->first), CitedLine(odd.first));
  }

  // --- processes that end without a word; only the launcher's report says that, and which
  void EndedWithoutReason() {
    for (const EndReport& end : incident_.ends) {
      if (!end.told_to && end.event->signature->role == Role::kInitiating) AddStated(end);
      if (!end.rank || !end.exit_code) continue;
      const int32_t code = *end.exit_code > 128 && *end.exit_code < 160 ? 128 - *end.exit_code : *end.exit_code;
      const v1::ExitMeaning* meaning = incident_.catalogue->Exit(code);
      const bool killed = !end.told_to && (code == -9 || (code < 0 && meaning != nullptr && meaning->role() == "initiating"));
      if (end.event->signature->role == Role::kInitiating) continue;
      if (!killed && !Exited(end, code) && !StoppedAlone(end, code)) continue;
      Suspect* suspect = ForRank(*end.rank);
      if (suspect != nullptr && suspect->root != nullptr) continue;
      if (suspect == nullptr) suspect = Add(*end.rank);
      SetRoot(suspect, LineOf(end));
      Sign(suspect, code == -9 ? "derived.killed" : killed ? "derived.crashed" : code < 0 ? "derived.stopped" : "derived.exited");
      if (meaning != nullptr && code != -15) {
        suspect->fault_class = FaultClassFromWord(meaning->class_()).value_or(FaultClass::kUndetermined);
      }
      const std::string how = code < 0 ? meaning == nullptr ? Cat("signal ", -code) : meaning->name() : Cat("exit code ", code);
      suspect->Add("ended_silently", killed ? weights::kKilledSilently : weights::kEndedSilently,
                   Cat("rank ", *end.rank, " ended with ", how, " and wrote no reason"), CitedLine(end.event));
    }
  }

  Suspect* AddPlaceOf(const EndReport& end) {
    if (end.rank) return Add(*end.rank);
    Suspect& suspect = suspects_.emplace_back();
    suspect.place = end.event->place;
    suspect.place.host = end.host;
    return &suspect;
  }

  // The launcher's report of the end states its cause.
  void AddStated(const EndReport& end) {
    if (!end.rank && end.host.empty()) return;
    Suspect* suspect = AddPlaceOf(end);
    if (!end.host.empty()) suspect->place.host = end.host;
    SetRoot(suspect, end.event);
    suspect->Add("ended_silently", weights::kKilledSilently,
                 Cat(PlaceName(suspect->place, false, end.event->source), " ended, and the launcher says why: ", Quote(end.event->event->text)),
                 CitedLine(end.event));
  }

  // --- a launcher whose processes left by themselves while others waited for them to join
  void EndedBesideWaiters() {
    std::set<std::string> waiting;
    for (const PlacedEvent& event : incident_.events) {
      if (IsWaiter(event.id())) waiting.insert(event.place.host);
    }
    if (waiting.empty() || waiting.contains("")) return;
    for (const EndReport& end : incident_.ends) {
      if (end.rank || end.told_to || end.host.empty() || end.exit_code.value_or(0) == 0 || waiting.contains(end.host)) continue;
      const bool other_fault = std::any_of(incident_.events.begin(), incident_.events.end(), [&](const PlacedEvent& event) {
        return event.place.host == end.host && !IsEndReport(event.id()) && event.signature->role >= Role::kCollateral;
      });
      if (other_fault || ForHost(end.host) != nullptr) continue;
      Suspect* suspect = AddPlaceOf(end);
      SetRoot(suspect, end.event);
      Sign(suspect, "derived.exited");
      suspect->Add("ended_silently", weights::kEndedSilently,
                   Cat("a process on ", end.host, " ended by itself with exit code ", *end.exit_code, " while other hosts waited"),
                   CitedLine(end.event));
    }
  }

  // --- where no line and no silence suggests anybody: the one process that a launcher saw end by itself
  void OnlyEnd() {
    if (!suspects_.empty()) return;
    const EndReport* only = nullptr;
    for (const EndReport& end : incident_.ends) {
      if (end.told_to || end.exit_code == 0 || (!end.rank && end.host.empty())) continue;
      const bool same = only != nullptr && only->rank == end.rank && (end.rank || (only->host == end.host && only->event->place.pid == end.event->place.pid));
      if (only != nullptr && !same) return;
      only = &end;
    }
    if (only == nullptr || (only->rank && raised_from_effect_.contains(*only->rank))) return;
    Suspect* suspect = AddPlaceOf(*only);
    SetRoot(suspect, LineOf(*only));
    Sign(suspect, "derived.exited");
    suspect->fault_class = FaultClass::kUndetermined;
    suspect->Add("only_an_end", weights::kOnlyAnEnd,
                 Cat("it is only known to have ended, not why: ", Quote(only->event->event->text)), CitedLine(only->event));
  }

  // The launcher's own line about this end says it more directly than its summary table.
  const PlacedEvent* LineOf(const EndReport& end) const {
    for (const EndReport& other : incident_.ends) {
      if (other.rank == end.rank && other.exit_code == end.exit_code && other.event->event->reports.empty()) return other.event;
    }
    return end.event;
  }

  // It chose its own exit code (an uncaught exception leaves 1), and shows no effect of a fault elsewhere.
  bool Exited(const EndReport& end, int32_t code) const {
    return !end.told_to && code > 1 && !raised_from_effect_.contains(*end.rank);
  }

  // The launcher found it stopped before it had told anybody to stop, and was not told itself.
  bool StoppedAlone(const EndReport& end, int32_t code) const {
    if (code != -15 || !end.first) return false;
    const bool others_too = std::any_of(incident_.ends.begin(), incident_.ends.end(), [&](const EndReport& other) {
      return other.first && other.told_to && other.rank != end.rank;
    });
    // What a launcher tells its own workers after that is no order from outside.
    return !others_too && std::none_of(incident_.events.begin(), incident_.events.end(), [](const PlacedEvent& event) {
      return IsStopSignal(event.id()) && event.id() != "elastic.sigterm";
    });
  }

  const Incident& incident_;
  std::vector<Suspect>& suspects_;
  const std::vector<int32_t> waiters_;
  const std::set<int32_t> raised_from_effect_;
};

}  // namespace

void AddSilentSuspects(const Incident& incident, std::vector<Suspect>* suspects) { Silent(incident, suspects).Run(); }

}  // namespace firstfault
