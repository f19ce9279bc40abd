#include "correlate/parse/progress.h"

#include <re2/re2.h>

#include <memory>
#include <string>
#include <vector>

#include "correlate/text.h"

namespace firstfault {
namespace {

struct Form {
  const char* regex;  // group 1: the number
  bool bar;
};
// First match wins: the more specific forms stand first.
constexpr Form kSteps[] = {
    {R"(^[^|\n]{0,80}?\d{1,3}%\|[^|\n]*\| *(\d+)/\d+ \[)", true},                        // tqdm
    {R"((?i)\biteration[ :=]+(\d+)(?: */|\b))", false},                                  // Megatron
    {R"((?i)\b(?:global_step|global step|total step)[ '":=]+(\d+))", false},
    {R"((?i)\b(?:train_?step|iter|step|step_in_epoch|steps)[ '":=#\[]+(\d+))", false},
    {R"((?i)\bbatch[ :=]+(?:\d+/)?(\d+))", false},
};

struct MemoryForm {
  const char* regex;  // group 1: the size
  const char* unit;   // of a bare number
  bool device;
};
// The first that matches for each of host and device decides.
constexpr MemoryForm kMemory[] = {
    {R"((?i)\b(?:rss|ram|host mem(?:ory)?|cpu (?:virtual )?mem(?:ory)?)\b[^0-9\n]{0,16}(\d+(?:\.\d+)? ?[KMGT]?i?B?)\b)", "", false},
    {R"((?i)\b(?:gpu|cuda|device|peak|max(?:imum)?) ?_?mem(?:ory)?(?:[ _](?:allocated|reserved|used|usage))?\b[^0-9\n]{0,8}(\d+(?:\.\d+)? ?[KMGT]i?B)\b)", "", true},
    {R"(\bmemory: ?(\d+(?:\.\d+)? ?[MG]iB)\()", "", true},                                   // torchtitan: 71.20GiB(90.02%)
    {R"(\bmemory \(MB\) \|.{0,60}\bmax reserved: (\d+(?:\.\d+)?))", " MB", true},            // Megatron
    {R"(\bmax mem: (\d+)\b)", " MB", true},                                                  // DETR, MAE and descendants
};

// Whether any form can match: a digit, and a word or mark that one of them needs. Most lines near a fault are
// neither steps nor figures, and seven expressions a line would be most of the time spent on them.
bool MayTell(std::string_view message) {
  if (message.find_first_of("0123456789") == std::string_view::npos) return false;
  if (message.find("%|") != std::string_view::npos) return true;
  constexpr std::string_view kWords[] = {"iter", "step", "batch", "rank", "rss", "ram", "mem"};
  std::string lower(message.substr(0, 512));
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (std::string_view word : kWords) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
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
  static const std::vector<std::unique_ptr<RE2>>* const steps = [] {
    auto* out = new std::vector<std::unique_ptr<RE2>>;
    for (const Form& form : kSteps) out->push_back(std::make_unique<RE2>(form.regex, RE2::Latin1));
    return out;
  }();
  // "waiting for rank 4" speaks of a rank (of a clique, of a group), not of the one that prints it.
  static const RE2* const rank = new RE2(R"((?i)(?:\b(for|from|to|of|by|with|on) )?\brank[ :=#]{1,2}(\d{1,6})\b)", RE2::Latin1);
  static const std::vector<std::unique_ptr<RE2>>* const memory = [] {
    auto* out = new std::vector<std::unique_ptr<RE2>>;
    for (const MemoryForm& form : kMemory) out->push_back(std::make_unique<RE2>(form.regex, RE2::Latin1));
    return out;
  }();
  ProgressFields out;
  if (!MayTell(message)) return out;
  message = message.substr(0, 512);  // what a step says about itself stands at its front
  const re2::StringPiece text(message.data(), message.size());
  for (size_t i = 0; i < steps->size(); ++i) {
    int64_t number = 0;
    if (RE2::PartialMatch(text, *(*steps)[i], &number)) {
      out.step = number;
      out.bar = kSteps[i].bar;
      break;
    }
  }
  int32_t number = 0;
  re2::StringPiece spoken_of;
  if (RE2::PartialMatch(text, *rank, &spoken_of, &number) && spoken_of.empty()) out.rank = number;
  re2::StringPiece size;
  for (size_t i = 0; i < memory->size(); ++i) {
    std::optional<double>& bytes = kMemory[i].device ? out.device_memory_bytes : out.memory_bytes;
    if (!bytes && RE2::PartialMatch(text, *(*memory)[i], &size)) {
      bytes = ParseSize(Cat(std::string_view(size.data(), size.size()), kMemory[i].unit));
    }
  }
  return out;
}

}  // namespace firstfault
