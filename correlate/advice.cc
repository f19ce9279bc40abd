#include "correlate/advice.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "correlate/oom_advice.h"
#include "correlate/rivals.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Fixes that only say "look elsewhere": right for effects, no advice for a cause.
constexpr std::string_view kNotTheCause = "F19";
// Fixes for GPU memory in general; the arithmetic knows which part of them applies.
constexpr std::string_view kDeviceMemory[] = {"F1", "F2", "F3"};

// The text shows the setting, and not as a proposal: torch's own message about memory says "try setting
// PYTORCH_CUDA_ALLOC_CONF=...", CUDA's says "consider passing CUDA_LAUNCH_BLOCKING=1".
bool Shows(std::string_view text, std::string_view setting) {
  constexpr std::string_view kProposals[] = {"try ", "set ", "setting ", "pass ", "passing ", "use ", "using "};
  constexpr size_t kWordsBefore = 40;  // bytes in which a proposal stands before what it proposes
  for (size_t at = text.find(setting); at != std::string_view::npos; at = text.find(setting, at + 1)) {
    const size_t from = at - std::min(at, kWordsBefore);
    const std::string_view before = text.substr(from, at - from);
    const bool proposed = std::any_of(std::begin(kProposals), std::end(kProposals), [&](std::string_view word) {
      return before.find(word) != std::string_view::npos;
    });
    if (!proposed) return true;
  }
  return false;
}

// The logs show NAME=VALUE in a line that was kept, alone or among other options of NAME.
bool AlreadyOn(const Incident& incident, const std::string& setting) {
  const size_t equals = setting.find('=');
  const std::string_view name = std::string_view(setting).substr(0, equals);
  const std::string_view value = equals == std::string::npos ? "" : std::string_view(setting).substr(equals + 1);
  for (const SourceDigest* source : incident.sources) {
    for (const auto* list : {&source->facts, &source->events}) {
      for (const Event& event : *list) {
        if (FieldOf(event.fields, "key") == name && FieldOf(event.fields, "value").find(value) != std::string_view::npos) return true;
        if (Shows(event.text, setting)) return true;
        for (const std::string_view line : Lines(event.context)) {
          if (Shows(line, setting)) return true;
        }
      }
    }
  }
  return false;
}

struct RestartRow {
  FaultClass fault_class;
  const char* line;  // <go>: see RestartLine
};
constexpr RestartRow kRestart[] = {
    {FaultClass::kCapacity, "Do not restart as is: it will run out again. After the change above, <go>."},
    {FaultClass::kConfiguration, "Do not restart as is: it will fail again. After the change above, <go>; no node is at fault."},
    {FaultClass::kTransport, "Yes: <go>, once what the line speaks of answers again; the named place only noticed it."},
    {FaultClass::kHardware, "Yes: <go>, without the named node."},
    {FaultClass::kSoftware, "Do not restart as is: a program error comes back. After the fix, <go>; no node is at fault."},
    {FaultClass::kData, "Do not restart as is: it stops at the same place. After the data or its handling is changed, <go>."},
    {FaultClass::kScheduler, "Yes: <go>, as soon as the scheduler gives the nodes again."},
    {FaultClass::kUndetermined, "Only with the evidence below being collected; the cause is not known yet."},
};
constexpr std::string_view kWithoutHost = "Yes: <go>, without the named host or link until it is checked.";

// The first repair of the row is one of the host itself.
bool RepairsHost(const Catalogue& catalogue, const v1::Signature& row) {
  const v1::Remedy* first = row.fix_size() == 0 ? nullptr : catalogue.Fix(row.fix(0));
  return first != nullptr && first->of_host();
}

// Hardware is a host's own. A broken path is where its row repairs a part of the host: a file server or an
// outside service that does not answer is not.
bool HostAtFault(const Incident& incident, const Suspect& culprit) {
  if (culprit.fault_class == FaultClass::kHardware) return true;
  if (culprit.fault_class != FaultClass::kTransport || culprit.all_ranks) return false;
  const Signature* signature = incident.catalogue->Find(culprit.signature);
  return signature != nullptr && RepairsHost(*incident.catalogue, signature->row);
}

// Who speaks in these logs: schedulers, launchers, libraries.
std::set<std::string_view> ProducersHeard(const Incident& incident) {
  std::set<std::string_view> out;
  for (const SourceDigest* source : incident.sources) {
    for (const auto* list : {&source->facts, &source->events}) {
      for (const Event& event : *list) out.insert(incident.catalogue->signatures()[event.signature].row.producer());
    }
    for (const uint32_t benign : source->benign) out.insert(incident.catalogue->signatures()[benign].row.producer());
  }
  return out;
}

// "$NAME" of a command, and the captures that may stand for it, best first.
struct Variable {
  std::string_view name;
  std::array<std::string_view, 3> captures;
};
constexpr Variable kVariables[] = {
    {"HOST", {"peer_host", "peer_addr", "host"}}, {"PORT", {"port"}},      {"JOB", {"job"}},
    {"POD", {"host"}},                            {"PID", {"pid"}},        {"BDF", {"bus"}},
    {"TARGET", {"path"}},                         {"PROGRAM", {"process"}},
};

// Text of a log may go into a command that people copy only where no shell acts on it.
bool IsShellSafe(std::string_view value) {
  return !value.empty() && value.front() != '-' && std::all_of(value.begin(), value.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("._:/@+-").find(c) != std::string_view::npos;
  });
}

// What the report knows of the place stands behind what the line captured.
Fields ValuesOf(const Incident& incident, const Suspect& culprit) {
  Fields out;
  if (culprit.root != nullptr) out = culprit.root->event->fields;
  // "[::]:23456"
  const std::string addr(FieldOf(out, "addr"));
  const size_t colon = addr.rfind(':');
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) out.emplace_back(name, std::move(value));
  };
  if (colon != std::string::npos && ParseNumber<uint16_t>(std::string_view(addr).substr(colon + 1))) add("port", addr.substr(colon + 1));
  add("host", culprit.place.host);
  if (culprit.root != nullptr) add("host", culprit.root->place.host);
  add("bus", culprit.place.bus);
  if (culprit.place.pid) add("pid", std::to_string(*culprit.place.pid));
  add("job", incident.job);
  return out;
}

std::string FillVariables(std::string command, const Fields& values) {
  for (const Variable& variable : kVariables) {
    const std::string quoted = Cat("\"$", variable.name, '"');
    for (const std::string_view capture : variable.captures) {
      const std::string_view value = FieldOf(values, capture);
      if (!IsShellSafe(value)) continue;
      for (size_t at = command.find(quoted); at != std::string::npos; at = command.find(quoted, at)) command.replace(at, quoted.size(), value);
      break;
    }
  }
  return command;
}

// Words that carry the content of a text: five letters or more, without marks.
std::set<std::string> ContentWords(std::string_view text) {
  constexpr size_t kLettersMin = 5;
  std::set<std::string> out;
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c);
    if (letter) {
      word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      continue;
    }
    if (word.size() >= kLettersMin) out.insert(word);
    word.clear();
  }
  return out;
}

// A general remedy of which more than this part of the words stands in more specific advice says it again: in
// the catalogue, pairs that say the same share 27 % and more, pairs that add something mostly below 25 %.
constexpr size_t kSaysAgain = 4;

bool SaysAgain(std::string_view remedy, const std::set<std::string>& said) {
  const std::set<std::string> words = ContentWords(remedy);
  const auto known = static_cast<size_t>(std::count_if(words.begin(), words.end(), [&](const std::string& word) { return said.contains(word); }));
  return known * kSaysAgain > words.size();
}

// Whether the text names a capture that the line did not have: "If pid <other_pid> is listed ...".
bool NamesUnknown(std::string_view text) {
  for (size_t open = text.find('<'); open != std::string_view::npos; open = text.find('<', open + 1)) {
    const size_t close = text.find('>', open);
    if (close != std::string_view::npos && CaptureTypeOf(text.substr(open + 1, close - open - 1))) return true;
  }
  return false;
}

// Without the sentences that speak of what these logs do not show.
std::string OnlyKnown(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(". ", at), text.size());
    const std::string sentence = text.substr(at, end - at + (end < text.size() ? 1 : 0));
    if (!NamesUnknown(sentence)) out += Cat(out.empty() ? "" : " ", sentence);
    at = end + 2;
  }
  return out;
}

}  // namespace

const v1::Remedy* ControlOf(const Incident& incident, const std::vector<std::string>& codes) {
  const std::set<std::string_view> heard = ProducersHeard(incident);
  for (const std::string& code : codes) {
    const v1::Remedy* check = incident.catalogue->Check(code);
    if (check == nullptr || check->command().empty() || (check->live() && !incident.ends.empty())) continue;
    const bool fits = check->needs().empty() || std::any_of(check->needs().begin(), check->needs().end(),
                                                            [&](const std::string& producer) { return heard.contains(producer); });
    if (fits) return check;
  }
  return nullptr;
}

std::string FillPlaceholders(const std::string& text, const Fields& fields) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t open = text.find('<', at);
    const size_t close = open == std::string::npos ? open : text.find('>', open);
    if (close == std::string::npos) break;
    const std::string name = text.substr(open + 1, close - open - 1);
    const std::string_view value = FieldOf(fields, name);
    out += text.substr(at, open - at);
    out += value.empty() ? Cat("<", name, ">") : std::string(value);
    at = close + 1;
  }
  return out + text.substr(at);
}

v1::Advice AdviseOn(const Incident& incident, const Suspect& culprit, const std::optional<OomAnswer>& oom) {
  v1::Advice advice;
  const Signature* signature = incident.catalogue->Find(culprit.signature);
  if (signature == nullptr) {
    advice.set_summary("Find out what the named rank was doing when the others waited for it.");
    if (const v1::Remedy* check = ControlOf(incident, {"C23", "C10"})) {
      advice.set_control_command(FillVariables(check->command(), ValuesOf(incident, culprit)));
    }
    return advice;
  }
  const Fields values = ValuesOf(incident, culprit);
  const v1::Signature& row = signature->row;
  const auto known = [&](const std::string& text) { return OnlyKnown(FillPlaceholders(text, values)); };
  const auto propose = [&](const std::string& title, const std::string& text, const auto& settings) {
    const bool on = std::any_of(settings.begin(), settings.end(), [&](const std::string& setting) { return AlreadyOn(incident, setting); });
    const std::string lead = title.empty() ? "" : Cat(title, ": ");
    advice.add_changes(on ? Cat(lead, "the setting that usually helps is already on in these logs; look at the other changes.")
                          : Cat(lead, text));
  };
  const std::string summary = known(row.quick_answer());
  advice.set_summary(summary.empty() ? Cat(row.title(), ".") : summary);
  // Where the numbers tell which kind of shortage it is, they choose the changes.
  const std::vector<OomChange> computed = oom ? ChangesFor(*oom) : std::vector<OomChange>();
  for (const OomChange& change : computed) propose("", change.text, change.settings);
  if (computed.empty() || oom->allocator == Allocator::kHost) {
    for (const std::string& text : row.advice()) {
      if (std::string change = known(text); !change.empty()) advice.add_changes(std::move(change));
    }
  }
  // Of a rank that left no cause its exit code is all that is known.
  if (row.derived() && culprit.place.rank) {
    const auto facts = incident.ranks.find(*culprit.place.rank);
    const bool ended = facts != incident.ranks.end() && facts->second.exit_code.has_value();
    const v1::ExitMeaning* exit = ended ? incident.catalogue->Exit(*facts->second.exit_code) : nullptr;
    if (exit != nullptr) advice.add_changes(Cat("It ended by ", exit->name(), ". ", exit->reading(), " Look next at: ", exit->look_next()));
  }
  // What was said in particular is not said again in general.
  std::set<std::string> said;
  for (const std::string& change : advice.changes()) said.merge(ContentWords(change));
  const bool host_at_fault = HostAtFault(incident, culprit);
  for (const std::string& code : row.fix()) {
    const v1::Remedy* fix = incident.catalogue->Fix(code);
    const bool device_memory = std::find(std::begin(kDeviceMemory), std::end(kDeviceMemory), code) != std::end(kDeviceMemory);
    if (fix == nullptr || code == kNotTheCause || (oom && device_memory)) continue;
    if ((fix->of_host() && !host_at_fault) || SaysAgain(fix->text(), said)) continue;
    propose(fix->title(), fix->text(), fix->setting());
  }
  std::vector<std::string> codes(row.check().begin(), row.check().end());
  // Where somebody else holds the device, the control is who does.
  const bool held = oom && oom->allocator != Allocator::kHost &&
                    (oom->shortage == Shortage::kHeldByOther || oom->shortage == Shortage::kPreallocation);
  if (held) codes.insert(codes.begin(), "C1");
  if (const v1::Remedy* control = ControlOf(incident, codes)) {
    advice.set_control_command(FillVariables(FillPlaceholders(control->command(), values), values));
  }
  advice.set_resume(RestartLine(incident, culprit));
  if (host_at_fault && !culprit.place.host.empty()) advice.add_drain(culprit.place.host);
  return advice;
}

std::string RestartLine(const Incident& incident, const Suspect& culprit) {
  std::string_view line;
  for (const RestartRow& row : kRestart) {
    if (row.fault_class == culprit.fault_class) line = row.line;
  }
  if (culprit.fault_class == FaultClass::kTransport && HostAtFault(incident, culprit)) line = kWithoutHost;
  const Signature* signature = incident.catalogue->Find(culprit.signature);
  if (signature != nullptr && !signature->row.restart().empty()) line = signature->row.restart();
  const bool trained = std::any_of(incident.sources.begin(), incident.sources.end(), [](const SourceDigest* source) {
    return std::any_of(source->progress.begin(), source->progress.end(), [](const Progress& progress) { return !progress.bar; });
  });
  return FillPlaceholders(std::string(line), {{"go", trained ? "restart from the last checkpoint" : "start again"}});
}

std::vector<std::string> WouldSettle(const Incident& incident, const std::vector<Suspect>& suspects) {
  constexpr size_t kNamesMax = 8;      // hosts or ranks named in one line
  constexpr size_t kFromSuspects = 3;  // lines that the suspects' own rows and rivals give
  std::vector<std::string> out;
  std::set<std::string> seen;
  const auto add = [&](std::string text) {
    if (!text.empty() && seen.insert(text).second) out.push_back(std::move(text));
  };
  const auto list = [&](const auto& names) {
    std::string text;
    size_t count = 0;
    for (const auto& name : names) {
      if (count++ < kNamesMax) text += Cat(text.empty() ? "" : ", ", name);
    }
    return count > kNamesMax ? Cat(text, " and ", count - kNamesMax, " more") : text;
  };
  // What was not read comes before what must be run.
  std::vector<int32_t> unseen;
  const int32_t expected = std::max(incident.world_size.value_or(0), incident.ranks_expected);
  for (int32_t rank = 0; rank < expected && unseen.size() <= 1000; ++rank) {
    if (!incident.ranks.contains(rank)) unseen.push_back(rank);
  }
  if (!unseen.empty()) add(Cat("Logs of the ranks without a line (rank ", list(unseen), "), from the launcher's log folder of their hosts"));
  const v1::Remedy* kernel_log = incident.catalogue->Check("C2");
  const std::vector<std::string> without = HostsWithoutKernelLog(incident);
  if (kernel_log != nullptr && !without.empty()) add(Cat("Kernel logs of ", list(without), ": ", kernel_log->command()));
  if (kernel_log != nullptr && incident.hosts.empty()) add(Cat("Kernel logs of all hosts: ", kernel_log->command()));
  const size_t sources = out.size();
  for (const Suspect& suspect : suspects) {
    const Signature* signature = incident.catalogue->Find(suspect.signature);
    if (signature == nullptr) continue;
    for (const std::string& code : signature->row.check()) {
      const v1::Remedy* check = incident.catalogue->Check(code);
      if (out.size() < sources + kFromSuspects && check != nullptr && check != kernel_log) {
        add(Cat(check->title(), ": ", check->command().empty() ? check->text() : check->command()));
      }
    }
  }
  if (!suspects.empty()) {
    for (const Rival& rival : RivalsOf(incident, suspects.front().signature, suspects.front().place)) {
      if (out.size() < sources + kFromSuspects + 1) add(rival.missing);
    }
  }
  const bool any_collective = std::any_of(incident.events.begin(), incident.events.end(), [](const PlacedEvent& event) {
    return event.id().starts_with("pg.") || event.id().starts_with("nccl.");
  });
  if (any_collective) {
    if (const v1::Remedy* check = incident.catalogue->Check("C10")) add(Cat(check->title(), ": ", check->text()));
    add("NCCL's own view: run again with NCCL_DEBUG=INFO and the logs of all ranks kept; to separate a bad link or GPU pair, run "
        "nccl-tests pairwise (all_reduce_perf) and once with NCCL_P2P_DISABLE=1, and read nvidia-smi topo -m and nvlink -s.");
  }
  return out;
}

}  // namespace firstfault
