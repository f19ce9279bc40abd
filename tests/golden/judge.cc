#include "tests/golden/judge.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "correlate/incident.h"
#include "correlate/text.h"

namespace firstfault::golden {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;

[[noreturn]] void Malformed(const Case& expected, std::string_view what) {
  std::fprintf(stderr, "%s/expected.json: %s\n", expected.name.c_str(), std::string(what).c_str());
  std::exit(1);
}

std::optional<int32_t> ReadRank(const Case& expected, element value) {
  if (value.is_null()) return std::nullopt;
  int64_t rank = 0;
  if (value.get(rank) != simdjson::SUCCESS || rank < 0 || rank > INT32_MAX) {
    Malformed(expected, "a rank is a number or null");
  }
  return static_cast<int32_t>(rank);
}

// The text of a field, where it is there and not null, and those of the list `field`_accept.
void AddTexts(const Case& expected, element root, std::string_view field, std::vector<std::string>* out) {
  element value;
  if (root[field].get(value) != simdjson::SUCCESS || value.is_null()) return;
  const auto add = [&](element text) {
    std::string_view view;
    if (text.get(view) != simdjson::SUCCESS) Malformed(expected, Cat(field, " must be text"));
    out->emplace_back(view);
  };
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return add(value);
  for (const element text : list) add(text);
}

Case ReadCase(const fs::path& folder) {
  Case out;
  out.name = folder.filename().string();
  out.folder = folder;
  simdjson::dom::parser parser;
  element root, value;
  if (parser.load((folder / "expected.json").string()).get(root) != simdjson::SUCCESS) {
    Malformed(out, "not readable as JSON");
  }
  std::string_view text;
  if (root["class"].get(text) != simdjson::SUCCESS) Malformed(out, "class is missing");
  out.fault_class = text;
  if (root["initiator"].get(value) != simdjson::SUCCESS) Malformed(out, "initiator is missing");
  element field;
  if (value["rank"].get(field) == simdjson::SUCCESS) out.rank = ReadRank(out, field);
  if (value["host"].get(text) == simdjson::SUCCESS) out.host = text;
  simdjson::dom::array list;
  if (root["initiator_accept"].get(list) == simdjson::SUCCESS) {
    for (const element rank : list) out.rank_accept.push_back(ReadRank(out, rank));
  }
  if (root["collateral_ranks"].get(list) == simdjson::SUCCESS) {
    for (const element entry : list) {
      if (const auto rank = ReadRank(out, entry)) out.collateral_ranks.push_back(*rank);
    }
  }
  AddTexts(out, root, "class_accept", &out.class_accept);
  AddTexts(out, root, "root_line", &out.root);
  AddTexts(out, root, "root_line_accept", &out.root);
  AddTexts(out, root, "first_warning", &out.first_warning);
  AddTexts(out, root, "first_warning_accept", &out.first_warning);
  AddTexts(out, root, "fix_keywords", &out.fix_keywords);
  bool flag = false;
  if (root["undetermined_ok"].get(flag) == simdjson::SUCCESS) out.undetermined_ok = flag;
  return out;
}

// Runs of white space become one blank; `lower`: without regard to case.
std::string Fold(std::string_view text, bool lower) {
  std::string out;
  for (const char raw : text) {
    const auto c = static_cast<unsigned char>(raw);
    if (!std::isspace(c)) {
      out.push_back(static_cast<char>(lower ? std::tolower(c) : c));
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

bool ContainsOne(std::string_view text, const std::vector<std::string>& wanted, bool lower) {
  const std::string folded = Fold(text, lower);
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
    return folded.find(Fold(one, lower)) != std::string::npos;
  });
}

std::string AdviceText(const v1::Advice& advice) {
  std::string out = Cat(advice.summary(), " ", advice.control_command(), " ", advice.resume());
  for (const std::string& line : advice.changes()) out += Cat(" ", line);
  for (const std::string& node : advice.drain()) out += Cat(" ", node);
  return out;
}

std::optional<int32_t> RankOf(const v1::Report& report) {
  if (!report.has_initiator() || !report.initiator().has_rank()) return std::nullopt;
  return report.initiator().rank();
}

void JudgeTexts(const Case& expected, const v1::Report& report, Judgement* out) {
  const auto mark = [&](const char* name, const std::vector<std::string>& wanted, std::string_view text,
                        bool lower, Mark* mark) {
    if (wanted.empty()) return;
    *mark = ContainsOne(text, wanted, lower) ? Mark::kRight : Mark::kWrong;
    if (*mark == Mark::kRight) return;
    out->complaints.push_back(Cat(name, " is '", text.substr(0, 160), "', not '", wanted.front(), "'"));
  };
  mark("root", expected.root, report.root().text(), false, &out->root);
  mark("first warning", expected.first_warning, report.first_warning().text(), false, &out->first_warning);
  mark("advice", expected.fix_keywords, AdviceText(report.advice()), true, &out->advice);
}

void JudgeRoles(const Case& expected, const v1::Report& report, Judgement* out) {
  std::map<int32_t, std::string> role_of;
  for (const v1::RankView& view : report.ranks()) {
    if (view.has_rank()) role_of[view.rank()] = view.role();
  }
  std::string wrong;
  for (const int32_t rank : expected.collateral_ranks) {
    out->roles = Mark::kRight;
    const std::string& role = role_of[rank];
    if (role == "collateral" || role == "teardown" || role == "no_evidence") continue;
    wrong += Cat(wrong.empty() ? "" : ", ", rank, " ", role.empty() ? "not listed" : role);
  }
  if (wrong.empty()) return;
  out->roles = Mark::kWrong;
  out->complaints.push_back(Cat("ranks that only suffered: ", wrong));
}

}  // namespace

bool Case::handed() const {
  const auto number = ParseNumber<int>(std::string_view(name).substr(0, name.find('-')));
  return group.empty() && number && *number < 100;
}

std::vector<Case> ReadCases(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (fs::exists(entry.path() / "expected.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Case> out;
  for (const fs::path& folder : folders) {
    Case& found = out.emplace_back(ReadCase(folder));
    found.name = fs::relative(folder, root).string();
    if (folder.parent_path() != root) found.group = folder.parent_path().filename().string();
  }
  return out;
}

bool AcceptsPlace(const Case& expected, std::optional<int32_t> rank, std::string_view host) {
  if (!rank && host.empty()) return false;
  const auto& accept = expected.rank_accept;
  const bool rank_right =
      rank == expected.rank || std::find(accept.begin(), accept.end(), rank) != accept.end();
  return rank_right && (expected.host.empty() || ShortHost(host) == ShortHost(expected.host));
}

std::string PlaceText(std::optional<int32_t> rank, std::string_view host) {
  if (!rank && host.empty()) return "no place";
  if (!rank) return Cat("host ", host);
  return host.empty() ? Cat("rank ", *rank) : Cat("rank ", *rank, " on ", host);
}

std::string PlaceText(const v1::Report& report) {
  return PlaceText(RankOf(report), report.initiator().host());
}

Judgement Judge(const Case& expected, const v1::Report& report) {
  Judgement out;
  const bool named = report.verdict() == "named";
  const bool undetermined = report.verdict() == "undetermined";
  const std::optional<int32_t> rank = RankOf(report);
  const std::string& host = report.initiator().host();
  const bool has_place = rank || !host.empty();
  const bool place_right = expected.asks_place() && AcceptsPlace(expected, rank, host);
  const std::vector<std::string>& accept = expected.class_accept;
  const bool class_right = report.class_() == expected.fault_class ||
                           std::find(accept.begin(), accept.end(), report.class_()) != accept.end();
  bool right = false;
  if (expected.verdict() == "named") {
    const bool asks_class_only = !expected.asks_place();
    right = named && (asks_class_only ? class_right : place_right);
    right |= undetermined && expected.undetermined_ok;
    out.named_wrongly = named && has_place && !asks_class_only && !place_right;
    out.fault_class = class_right || (undetermined && expected.undetermined_ok) ? Mark::kRight : Mark::kWrong;
    if (!(undetermined && expected.undetermined_ok)) JudgeTexts(expected, report, &out);
  } else if (expected.verdict() == "undetermined") {
    right = undetermined || (named && place_right && class_right);
    out.named_wrongly = named && has_place && !place_right;
    out.fault_class = class_right ? Mark::kRight : Mark::kWrong;
  } else {
    right = report.verdict() == "no_failure";
    out.named_wrongly = named && has_place;
    out.fault_class = class_right ? Mark::kRight : Mark::kWrong;
  }
  JudgeRoles(expected, report, &out);
  out.place = right ? Mark::kRight : Mark::kWrong;
  if (!right) {
    out.complaints.insert(out.complaints.begin(),
                          Cat(report.verdict(), ", ", PlaceText(report), "; expected ", expected.verdict(),
                              ", ", PlaceText(expected.rank, expected.host)));
  }
  if (out.fault_class == Mark::kWrong) {
    out.complaints.push_back(Cat("class ", report.class_(), ", not ", expected.fault_class));
  }
  return out;
}

}  // namespace firstfault::golden
