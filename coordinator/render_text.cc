#include <algorithm>
#include <cstdint>

#include "coordinator/render.h"
#include "coordinator/report_document.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

// Below this, cutting takes more than it gives: let the terminal wrap.
constexpr size_t kColumnsMin = 40;
constexpr std::string_view kIndent = "  ", kLogIndent = "    ";
constexpr std::string_view kBold = "\x1b[1m", kPlain = "\x1b[0m";

struct VerdictColour {
  std::string_view verdict, start;
};
constexpr VerdictColour kVerdictColours[] = {
    {"named", "\x1b[1;31m"}, {"undetermined", "\x1b[1;33m"}, {"no_failure", "\x1b[1;32m"}};

class TextRenderer {
 public:
  explicit TextRenderer(const RenderOptions& options)
      : options_(options), columns_(std::max(options.columns, kColumnsMin)) {}

  std::string Render(const v1::Report& report) {
    const Document document = DocumentOf(report, {options_.full, options_.explain});
    std::string_view colour = kBold;
    for (const VerdictColour& row : kVerdictColours) {
      if (row.verdict == report.verdict()) colour = row.start;
    }
    out_ = Cat(Coloured(Printable(document.verdict), colour), '\n');
    for (const DocumentSection& section : document.sections) {
      out_ += Cat('\n', Coloured(section.title, kBold), '\n');
      for (const DocumentBlock& block : section.blocks) Append(block);
    }
    return Cat(out_, '\n', Wrap(Printable(document.footer), columns_, ""), '\n');
  }

 private:
  std::string Coloured(std::string_view text, std::string_view start) const {
    return options_.colour ? Cat(start, text, kPlain) : std::string(text);
  }

  void Append(const DocumentBlock& block) {
    for (size_t i = 0; i < block.lines.size(); ++i) {
      const bool cut = block.kind == BlockKind::kLog && !options_.full;
      const std::string line = cut ? ShownLine(block, i, columns_ - kLogIndent.size()) : Printable(block.lines[i]);
      out_ += Cat(Line(block.kind, line, i + 1), '\n');
    }
  }

  std::string Line(BlockKind kind, const std::string& line, size_t number) const {
    switch (kind) {
      case BlockKind::kProse:
        return Filled(kIndent, line);
      case BlockKind::kListed:
        return Filled(Cat(kIndent, "- "), line);
      case BlockKind::kNumbered:
        return Filled(Cat(kIndent, number, ". "), line);
      case BlockKind::kPlace:
        return Cat(kIndent, line);
      case BlockKind::kLog:
      case BlockKind::kCommand:
        return Cat(kLogIndent, line);
    }
    return line;
  }

  std::string Filled(std::string_view mark, const std::string& line) const {
    return Cat(mark, Wrap(line, columns_, std::string(mark.size(), ' ')));
  }

  const RenderOptions& options_;
  const size_t columns_;
  std::string out_;
};

}  // namespace

std::string RenderText(const v1::Report& report, const RenderOptions& options) {
  return TextRenderer(options).Render(report);
}

}  // namespace firstfault
