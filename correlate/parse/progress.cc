#include "correlate/parse/progress.h"

#include <re2/re2.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "correlate/text.h"

namespace firstfault {
namespace {

struct Form {
  const char* words;  // every match has one of these, joined by '/'; text without them is not tried
  const char* regex;  // group 1: the number
  bool bar = false;
};
// First match wins: the more specific forms stand first.
constexpr Form kSteps[] = {
    {"%|", R"(^[^|\n]{0,80}?\d{1,3}%\|[^|\n]*\| *(\d+)/\d+ \[)", true},  // tqdm
    {"iteration", R"((?i)\biteration[ :=]+(\d+)(?: */|\b))"},               // Megatron
    {"global_step/global step/total step", R"((?i)\b(?:global_step|global step|total step)[ '":=]+(\d+))"},
    {"step/iter", R"((?i)\b(?:train_?step|iter|step|step_in_epoch|steps)[ '":=#\[]+(\d+))"},
    {"steps", R"((?i)\b(\d+)/\d+ (?:train(?:ing)? )?steps\b)"},  // "done: 200/200 steps"
    {"batch", R"((?i)\bbatch[ :=]+(?:\d+/)?(\d+))"},
};
// "waiting for rank 4" speaks of a rank (of a clique, of a group), not of the one that prints it.
constexpr Form kRank = {"rank", R"((?i)(?:\b(for|from|to|of|by|with) )?\brank[ :=#]{1,2}(\d{1,6})\b)"};

struct MemoryForm {
  Form form;          // group 1: the size
  const char* unit;   // of a bare number
  bool device;
};
// The first that matches for each of host and device decides.
constexpr MemoryForm kMemory[] = {
    {{"mem/ram", R"((?i)\b(?:cgroup|container|host|node|system) (?:mem(?:ory)?|ram)\b[^0-9\n]{0,16}(\d+(?:\.\d+)?) ?/ ?\d+(?:\.\d+)? ?GiB)"}, " GiB", false},
    {{"rss/ram/host mem/cpu mem/cpu virtual mem", R"((?i)\b(?:rss|ram|host mem(?:ory)?|cpu (?:virtual )?mem(?:ory)?)\b[^0-9\n]{0,16}(\d+(?:\.\d+)? ?[KMGT]?i?B?)\b)"}, "", false},
    {{"gpu/cuda/device/peak/max", R"((?i)\b(?:gpu|cuda|device|peak|max(?:imum)?) ?_?mem(?:ory)?(?:[ _](?:allocated|reserved|used|usage))?\b[^0-9\n]{0,8}(\d+(?:\.\d+)? ?[KMGT]i?B)\b)"}, "", true},
    {{"memory:", R"(\bmemory: ?(\d+(?:\.\d+)? ?[MG]iB)\()"}, "", true},                             // torchtitan: 71.20GiB(90.02%)
    {{"max reserved:", R"(\bmemory \(MB\) \|.{0,60}\bmax reserved: (\d+(?:\.\d+)?))"}, " MB", true},  // Megatron
    {{"max mem:", R"(\bmax mem: (\d+)\b)"}, " MB", true},                                           // DETR, MAE and descendants
};

// Behind a size: "of all" and the share of it. Another percentage on the line is of something else.
constexpr Form kShare = {"%", R"((?i)^(?: ?/ ?\d+(?:\.\d+)? ?[KMGT]i?B?)?[ ,(]*(?:percent|used)?[ =:]*(\d{1,3}(?:\.\d+)?) ?%)"};

// A form with its expression, compiled on first use.
class Matcher {
 public:
  explicit Matcher(const Form& form)
      : words_(Split(form.words, '/')), re_{form.regex, RE2::Latin1, {}, nullptr, {}} {}
  // `lower` is `text` in lower case.
  template <typename... Values>
  bool Find(std::string_view text, std::string_view lower, Values*... values) const {
    const auto has = [&](std::string_view word) { return lower.find(word) != std::string_view::npos; };
    if (std::none_of(words_.begin(), words_.end(), has)) return false;
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re_, values...);
  }

 private:
  const std::vector<std::string_view> words_;
  LazyRE2 re_;
};

// "/ 200 ...": of how many.
std::optional<int64_t> TotalAt(std::string_view text) {
  text = Trim(text);
  if (!text.starts_with('/')) return std::nullopt;
  text = Trim(text.substr(1));
  return ParseNumber<int64_t>(text.substr(0, text.find_first_not_of("0123456789")));
}

}  // namespace

std::optional<double> ParseSize(std::string_view text) {
  text = Trim(text);
  size_t digits = 0;
  while (digits < text.size() && (IsDigit(text[digits]) || text[digits] == '.')) ++digits;
  const auto number = ParseNumber<double>(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string_view unit = Trim(text.substr(digits));
  if (unit.empty() || unit == "bytes" || unit == "B") return number;
  double scale = 1;
  for (char c : std::string_view("KMGTPE")) {
    scale *= 1024;
    if (unit[0] == c || unit[0] == static_cast<char>(c + 32)) return *number * scale;
  }
  return std::nullopt;
}

ProgressFields ParseProgress(std::string_view message) {
  static const auto* const steps = new std::deque<Matcher>(std::begin(kSteps), std::end(kSteps));
  static const auto* const rank = new Matcher(kRank);
  static const auto* const share = new Matcher(kShare);
  static const auto* const memory = [] {
    auto* out = new std::deque<Matcher>;
    for (const MemoryForm& row : kMemory) out->emplace_back(row.form);
    return out;
  }();
  ProgressFields out;
  message = message.substr(0, 512);  // what a step says about itself stands at its front
  if (message.find_first_of("0123456789") == std::string_view::npos) return out;
  std::string lower(message);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  re2::StringPiece made;
  for (size_t i = 0; i < steps->size(); ++i) {
    if (!(*steps)[i].Find(message, lower, &made)) continue;
    out.step = ParseNumber<int64_t>(std::string_view(made.data(), made.size()));
    if (!out.step) continue;
    out.last = TotalAt(message.substr(static_cast<size_t>(made.data() + made.size() - message.data()))) == out.step;
    out.bar = kSteps[i].bar;
    break;
  }
  int32_t number = 0;
  re2::StringPiece spoken_of;
  if (rank->Find(message, lower, &spoken_of, &number) && spoken_of.empty()) out.rank = number;
  re2::StringPiece size;
  for (size_t i = 0; i < memory->size(); ++i) {
    std::optional<double>& bytes = kMemory[i].device ? out.device_memory_bytes : out.memory_bytes;
    if (!bytes && (*memory)[i].Find(message, lower, &size)) {
      bytes = ParseSize(Cat(std::string_view(size.data(), size.size()), kMemory[i].unit));
      const size_t behind = static_cast<size_t>(size.data() + size.size() - message.data());
      double percent = 0;
      if (!kMemory[i].device && share->Find(message.substr(behind), lower, &percent) && percent <= 100) out.memory_share = percent / 100;
    }
  }
  return out;
}

}  // namespace firstfault
