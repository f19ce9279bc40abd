#include "correlate/catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "correlate/anchors.h"
#include "correlate/literal_finder.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr WordTable<FaultClass, 9> kClassWords = {{{FaultClass::kNone, "none"},
                                                   {FaultClass::kCapacity, "capacity"},
                                                   {FaultClass::kConfiguration, "configuration"},
                                                   {FaultClass::kTransport, "transport"},
                                                   {FaultClass::kHardware, "hardware"},
                                                   {FaultClass::kSoftware, "software"},
                                                   {FaultClass::kData, "data"},
                                                   {FaultClass::kScheduler, "scheduler"},
                                                   {FaultClass::kUndetermined, "undetermined"}}};
constexpr WordTable<Role, 7> kRoleWords = {{{Role::kContext, "context"},
                                            {Role::kBenign, "benign"},
                                            {Role::kPrecursor, "precursor"},
                                            {Role::kTeardown, "teardown"},
                                            {Role::kCollateral, "collateral"},
                                            {Role::kAmbiguous, "ambiguous"},
                                            {Role::kInitiating, "initiating"}}};
constexpr WordTable<Severity, 4> kSeverityWords = {{{Severity::kInfo, "info"},
                                                    {Severity::kWarning, "warning"},
                                                    {Severity::kError, "error"},
                                                    {Severity::kFatal, "fatal"}}};

template <typename Enum, size_t N>
std::optional<Enum> ValueIn(const WordTable<Enum, N>& table, std::string_view word) {
  for (const auto& [value, name] : table) {
    if (name == word) return value;
  }
  return std::nullopt;
}

struct CaptureRow {
  std::string_view name;
  CaptureType type;
};
// Grouped by meaning: who printed it, whom it accuses, collectives, memory, ends, and the rest.
constexpr CaptureRow kCaptures[] = {
    {"rank", CaptureType::kInteger},        {"local_rank", CaptureType::kInteger},
    {"group_rank", CaptureType::kInteger},  {"node_rank", CaptureType::kInteger},
    {"nodes", CaptureType::kInteger},       {"per_node", CaptureType::kInteger},
    {"task", CaptureType::kInteger},        {"tasks", CaptureType::kRankList},
    {"ranks", CaptureType::kRankList},      {"world_size", CaptureType::kInteger},
    {"host", CaptureType::kText},           {"hosts", CaptureType::kText},
    {"pid", CaptureType::kInteger},         {"device", CaptureType::kInteger},
    {"bus", CaptureType::kText},            {"uuid", CaptureType::kText},
    {"process", CaptureType::kText},        {"nic", CaptureType::kText},
    {"peer_rank", CaptureType::kInteger},   {"peer_ranks", CaptureType::kRankList},
    {"peer_task", CaptureType::kInteger},   {"peer_tasks", CaptureType::kText},
    {"peer_host", CaptureType::kText},      {"peer_hosts", CaptureType::kText},
    {"peer_addr", CaptureType::kText},      {"peer_local_rank", CaptureType::kInteger},
    {"peer_pid", CaptureType::kInteger},    {"seq", CaptureType::kInteger},
    {"op", CaptureType::kText},             {"numel_in", CaptureType::kInteger},
    {"numel_out", CaptureType::kInteger},   {"timeout_ms", CaptureType::kInteger},
    {"elapsed_ms", CaptureType::kInteger},  {"elapsed_s", CaptureType::kInteger},
    {"enqueued", CaptureType::kInteger},    {"completed", CaptureType::kInteger},
    {"failed_work", CaptureType::kInteger}, {"group", CaptureType::kText},
    {"group_guid", CaptureType::kText},     {"comm", CaptureType::kText},
    {"expected", CaptureType::kInteger},    {"joined", CaptureType::kInteger},
    {"asked", CaptureType::kSize},          {"total", CaptureType::kSize},
    {"free", CaptureType::kSize},           {"allocated", CaptureType::kSize},
    {"reserved", CaptureType::kSize},       {"reserved_unallocated", CaptureType::kSize},
    {"in_use", CaptureType::kSize},         {"other_pid", CaptureType::kInteger},
    {"other_used", CaptureType::kSize},     {"limit", CaptureType::kSize},
    {"exit_code", CaptureType::kInteger},   {"signal", CaptureType::kText},
    {"signal_number", CaptureType::kInteger}, {"errno_number", CaptureType::kInteger},
    {"errno_text", CaptureType::kText},     {"status", CaptureType::kText},
    {"xid", CaptureType::kInteger},         {"sxid", CaptureType::kInteger},
    {"link", CaptureType::kInteger},        {"code", CaptureType::kText},
    {"path", CaptureType::kText},           {"port", CaptureType::kInteger},
    {"addr", CaptureType::kText},           {"key", CaptureType::kText},
    {"value", CaptureType::kText},          {"version", CaptureType::kText},
    {"peer_version", CaptureType::kText},   {"exception", CaptureType::kText},
    {"fingerprint", CaptureType::kText},    {"peer_fingerprint", CaptureType::kText},
    {"asked_name", CaptureType::kText},
    {"text", CaptureType::kText},           {"reason", CaptureType::kText},
    {"step", CaptureType::kInteger},        {"count", CaptureType::kInteger},
    {"job", CaptureType::kText},            {"attempt", CaptureType::kInteger},
    {"time", CaptureType::kText},           {"cgroup", CaptureType::kText},
    {"function", CaptureType::kText},       {"module", CaptureType::kText},
};

bool ValidId(std::string_view id) {
  return !id.empty() &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
         });
}

// The subset of regular expressions that mean the same to every engine, line by line, and whose matches stay
// in one line. Returns what is wrong, or an empty string.
std::string LintRegex(std::string_view regex) {
  if (regex.empty()) return "is empty";
  bool in_class = false;
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '\n') return "contains a newline";
    if (c == '\\') {
      const char next = i + 1 < regex.size() ? regex[i + 1] : '\0';
      if (next == 's' || next == 'D' || next == 'W' || next == 'A' || next == 'z' || next == 'Z' ||
          next == 'b' || next == 'B' || next == 'n' || next == 'C') {
        if (!(next == 'n' && in_class)) return Cat("uses \\", next);
      }
      ++i;
      continue;
    }
    if (in_class) {
      if (c == ']') in_class = false;
      continue;
    }
    if (c == '[') {
      in_class = true;
      if (i + 1 < regex.size() && regex[i + 1] == '^') {
        const size_t end = regex.find(']', i + 3);  // a ']' right after '[^' is a literal
        if (end == std::string_view::npos || regex.substr(i, end - i).find("\\n") == std::string_view::npos) {
          return "has a negated class without \\n, which could match across lines";
        }
        ++i;
      }
      if (i + 1 < regex.size() && regex[i + 1] == ']') ++i;
      continue;
    }
    if (c == '^' || c == '$') return Cat("uses ", c, ", which differs between engines");
  }
  // A trailing .* only makes the engine report every later end offset.
  if (regex.size() >= 2 && (regex.ends_with(".*") || regex.ends_with(".+"))) return "ends in .* or .+";
  return "";
}

absl::Status RowError(const std::string& id, std::string_view what) {
  return absl::InvalidArgumentError(Cat("signature ", id, ": ", what));
}

}  // namespace

std::string_view Word(FaultClass value) { return WordIn(kClassWords, value); }
std::string_view Word(Role value) { return WordIn(kRoleWords, value); }
std::string_view Word(Severity value) { return WordIn(kSeverityWords, value); }
std::optional<FaultClass> FaultClassFromWord(std::string_view word) { return ValueIn(kClassWords, word); }
std::optional<Role> RoleFromWord(std::string_view word) { return ValueIn(kRoleWords, word); }
std::optional<Severity> SeverityFromWord(std::string_view word) { return ValueIn(kSeverityWords, word); }

std::optional<CaptureType> CaptureTypeOf(std::string_view capture_name) {
  for (const CaptureRow& row : kCaptures) {
    if (row.name == capture_name) return row.type;
  }
  return std::nullopt;
}

const RE2& CompiledPattern::re() const {
  std::call_once(once_, [this] { Compile(); });
  return *re_;
}

const std::vector<std::string>& CompiledPattern::groups() const {
  std::call_once(once_, [this] { Compile(); });
  return groups_;
}

void CompiledPattern::Compile() const {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  re_ = std::make_unique<RE2>(regex(), options);
  if (!re_->ok()) return;  // Check says so
  groups_.resize(static_cast<size_t>(re_->NumberOfCapturingGroups()) + 1);
  for (const auto& [number, name] : re_->CapturingGroupNames()) groups_[static_cast<size_t>(number)] = name;
}

absl::StatusOr<std::shared_ptr<const Catalogue>> Catalogue::Build(const std::vector<v1::Catalogue>& files) {
  auto out = std::make_shared<Catalogue>();
  for (const v1::Catalogue& file : files) out->merged_.MergeFrom(file);
  auto* rows = out->merged_.mutable_signature();
  std::stable_sort(rows->begin(), rows->end(),
                   [](const v1::Signature& a, const v1::Signature& b) { return a.id() < b.id(); });
  out->FillAnchors();
  out->Index();
  if (absl::Status status = out->Check(); !status.ok()) return status;
  return std::shared_ptr<const Catalogue>(std::move(out));
}

std::shared_ptr<const Catalogue> Catalogue::FromChecked(v1::Catalogue rows) {
  auto out = std::make_shared<Catalogue>();
  out->merged_ = std::move(rows);
  out->Index();
  return out;
}

void Catalogue::FillAnchors() {
  std::string lines;
  for (const std::string& line : merged_.healthy()) lines += line + "\n";
  const HealthyText healthy(std::move(lines));
  std::map<std::string, std::vector<v1::Pattern*>> patterns_of;  // by anchor
  for (v1::Signature& row : *merged_.mutable_signature()) {
    for (v1::Pattern& pattern : *row.mutable_pattern()) {
      pattern.clear_anchor();
      if (row.lazy()) continue;
      for (const std::string& anchor : FindAnchors(pattern.regex(), healthy)) patterns_of[anchor].push_back(&pattern);
    }
  }
  std::vector<std::string> anchors;
  for (const auto& [anchor, with_it] : patterns_of) anchors.push_back(anchor);
  const std::vector<uint32_t> keys = ChooseKeys(anchors, healthy);
  for (size_t i = 0; i < anchors.size(); ++i) {
    for (v1::Pattern* pattern : patterns_of[anchors[i]]) {
      v1::Anchor& anchor = *pattern->add_anchor();
      anchor.set_text(anchors[i]);
      anchor.set_key(keys[i]);
    }
  }
}

void Catalogue::Index() {
  for (const v1::Remedy& remedy : merged_.fix()) remedies_[remedy.id()] = &remedy;
  for (const v1::Remedy& remedy : merged_.check()) remedies_[remedy.id()] = &remedy;
  for (const v1::ExitMeaning& exit : merged_.exit()) exits_[exit.code()] = &exit;
  for (const v1::Signature& row : merged_.signature()) {
    const uint32_t index = static_cast<uint32_t>(signatures_.size());
    by_id_.try_emplace(row.id(), index);
    signatures_.push_back({row, FaultClassFromWord(row.class_()).value_or(FaultClass::kUndetermined),
                           RoleFromWord(row.role()).value_or(Role::kAmbiguous),
                           SeverityFromWord(row.severity()).value_or(Severity::kError)});
    for (const v1::Pattern& pattern : row.pattern()) patterns_.emplace_back(index, pattern);
    if (row.has_refines()) {
      const v1::Refinement& refines = row.refines();
      refined_[Cat(refines.of(), "\n", refines.capture(), "\n", refines.equals())] = index;
    }
  }
}

absl::Status Catalogue::Check() const {
  for (uint32_t i = 0; i < signatures_.size(); ++i) {
    const v1::Signature& row = signatures_[i].row;
    const std::string& id = row.id();
    if (!ValidId(id)) return RowError(id, "ids are lower case words joined by dots");
    if (by_id_.at(id) != i) return RowError(id, "is defined twice");
    if (!FaultClassFromWord(row.class_())) return RowError(id, Cat("unknown class '", row.class_(), "'"));
    if (!RoleFromWord(row.role())) return RowError(id, Cat("unknown role '", row.role(), "'"));
    if (!SeverityFromWord(row.severity())) return RowError(id, Cat("unknown severity '", row.severity(), "'"));
    if ((row.pattern_size() > 0) + row.has_refines() + row.derived() != 1) {
      return RowError(id, "needs exactly one of patterns, refines and derived");
    }
    if (row.has_refines() && !by_id_.contains(row.refines().of())) return RowError(id, "refines an unknown row");
    for (const auto* list : {&row.precedes(), &row.follows(), &row.related()}) {
      for (const std::string& other : *list) {
        if (!by_id_.contains(other)) return RowError(id, Cat("names the unknown row '", other, "'"));
      }
    }
    if (!row.cancels().empty() && !by_id_.contains(row.cancels())) return RowError(id, "cancels an unknown row");
    for (const std::string& code : row.fix()) {
      if (Fix(code) == nullptr) return RowError(id, Cat("unknown fix ", code));
    }
    for (const std::string& code : row.check()) {
      if (Check(code) == nullptr) return RowError(id, Cat("unknown check ", code));
    }
  }
  for (const CompiledPattern& pattern : patterns_) {
    const std::string& id = signatures_[pattern.signature].row.id();
    const auto wrong = [&](std::string_view what) { return RowError(id, Cat("pattern '", pattern.regex(), "' ", what)); };
    if (const std::string lint = LintRegex(pattern.regex()); !lint.empty()) return wrong(lint);
    const std::string& at = pattern.row->at();
    if (!at.empty() && at != "ANY" && at != "START") return RowError(id, Cat("at is ANY or START, not '", at, "'"));
    if (!pattern.re().ok()) return wrong(pattern.re().error());
    if (pattern.re().Match("", 0, 0, RE2::UNANCHORED, nullptr, 0)) return wrong("matches an empty line");
    for (const auto& [number, name] : pattern.re().CapturingGroupNames()) {
      if (!CaptureTypeOf(name)) return RowError(id, Cat("capture '", name, "' is not in the capture table"));
    }
    if (signatures_[pattern.signature].row.lazy()) continue;
    // A context line may be missed: it is tried on sampled lines only. A fault may not.
    const bool context = signatures_[pattern.signature].role == Role::kContext;
    if (!context && pattern.row->anchor().empty()) return wrong(Cat("has no literal of ", LiteralFinder::kKeyBytes, " bytes that every match contains"));
    const Role role = signatures_[pattern.signature].role;
    for (const std::string& line : merged_.healthy()) {
      if (role >= Role::kPrecursor && RE2::PartialMatch(line, pattern.re())) return wrong(Cat("matches the healthy line: ", line));
    }
  }
  return absl::OkStatus();
}

const Signature* Catalogue::Find(std::string_view id) const {
  const auto index = IndexOf(id);
  return index ? &signatures_[*index] : nullptr;
}

std::optional<uint32_t> Catalogue::IndexOf(std::string_view id) const {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return std::nullopt;
  return it->second;
}

uint32_t Catalogue::Refine(uint32_t signature, std::string_view capture, std::string_view value) const {
  const auto it = refined_.find(Cat(signatures_[signature].row.id(), "\n", capture, "\n", value));
  return it == refined_.end() ? signature : it->second;
}

const v1::Remedy* Catalogue::Fix(std::string_view id) const {
  const auto it = remedies_.find(id);
  return it == remedies_.end() || !id.starts_with("F") ? nullptr : it->second;
}

const v1::Remedy* Catalogue::Check(std::string_view id) const {
  const auto it = remedies_.find(id);
  return it == remedies_.end() || !id.starts_with("C") ? nullptr : it->second;
}

const v1::ExitMeaning* Catalogue::Exit(int code) const {
  const auto it = exits_.find(code);
  return it == exits_.end() ? nullptr : it->second;
}

}  // namespace firstfault
