#include "correlate/advice.h"

#include <algorithm>
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
  const char* line;
};
constexpr RestartRow kRestart[] = {
    {FaultClass::kCapacity, "Not unchanged: it will run out again. Restart from the last checkpoint after the change above."},
    {FaultClass::kConfiguration, "Not unchanged: it will fail again. Restart after the change above; no node is at fault."},
    {FaultClass::kTransport, "Yes, from the last checkpoint, without the named host or link until it is checked."},
    {FaultClass::kHardware, "Yes, from the last checkpoint, without the named node."},
    {FaultClass::kSoftware, "Not unchanged: a program error comes back. Restart after the fix; no node is at fault."},
    {FaultClass::kData, "Only with the data or its handling changed; it stops at the same place otherwise."},
    {FaultClass::kScheduler, "Yes, from the last checkpoint, as soon as the scheduler gives the nodes again."},
    {FaultClass::kUndetermined, "Only with the evidence below being collected; the cause is not known yet."},
};

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
    if (const v1::Remedy* check = incident.catalogue->Check("C23")) advice.set_control_command(check->command());
    return advice;
  }
  const Fields none;
  const Fields& fields = culprit.root == nullptr ? none : culprit.root->event->fields;
  const v1::Signature& row = signature->row;
  const auto known = [&](const std::string& text) { return OnlyKnown(FillPlaceholders(text, fields)); };
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
  for (const std::string& code : row.fix()) {
    const v1::Remedy* fix = incident.catalogue->Fix(code);
    const bool device_memory = std::find(std::begin(kDeviceMemory), std::end(kDeviceMemory), code) != std::end(kDeviceMemory);
    if (fix == nullptr || code == kNotTheCause || (oom && device_memory)) continue;
    propose(fix->title(), fix->text(), fix->setting());
  }
  std::vector<std::string> codes(row.check().begin(), row.check().end());
  // Where somebody else holds the device, the control is who does.
  const bool held = oom && oom->allocator != Allocator::kHost &&
                    (oom->shortage == Shortage::kHeldByOther || oom->shortage == Shortage::kPreallocation);
  if (held) codes.insert(codes.begin(), "C1");
  for (const std::string& code : codes) {
    const v1::Remedy* check = incident.catalogue->Check(code);
    if (check != nullptr && !check->command().empty()) {
      advice.set_control_command(FillPlaceholders(check->command(), fields));
      break;
    }
  }
  advice.set_resume(RestartLine(culprit));
  const bool node_at_fault = culprit.fault_class == FaultClass::kHardware ||
                             (culprit.fault_class == FaultClass::kTransport && !culprit.all_ranks);
  if (node_at_fault && !culprit.place.host.empty()) advice.add_drain(culprit.place.host);
  return advice;
}

std::string RestartLine(const Suspect& culprit) {
  for (const RestartRow& row : kRestart) {
    if (row.fault_class == culprit.fault_class) return row.line;
  }
  return "";
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
