#include "coordinator/cli/signature_pages.h"

#include <algorithm>
#include <map>

#include "coordinator/shown_text.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// What a search looks into: everything that a page shows, and the examples.
std::string SearchedText(const v1::Signature& row) {
  std::string out;
  for (const std::string* text : {&row.id(), &row.title(), &row.producer(), &row.quick_answer(),
                                  &row.symptom(), &row.mechanism(), &row.affected(), &row.does_not_prove()}) {
    out += Cat(*text, '\n');
  }
  for (const auto* list : {&row.advice(), &row.positive()}) {
    for (const std::string& text : *list) out += Cat(text, '\n');
  }
  return Lower(out);
}

// The row that a line of a log belongs to, refined by its captures where such rows exist.
uint32_t RowOfMatch(const Catalogue& catalogue, const CompiledPattern& pattern,
                    const std::vector<re2::StringPiece>& match) {
  uint32_t row = pattern.signature;
  for (size_t group = 1; group < match.size(); ++group) {
    if (match[group].data() == nullptr || pattern.groups()[group].empty()) continue;
    row = catalogue.Refine(row, pattern.groups()[group], {match[group].data(), match[group].size()});
  }
  return row;
}

struct EvidenceRow {
  std::string_view letter, meaning;
};
constexpr EvidenceRow kEvidence[] = {{"S", "read in the source code"},
                                     {"D", "read in the documentation"},
                                     {"L", "seen in logs"},
                                     {"U", "not checked against a source"}};

class Page {
 public:
  Page(const Catalogue& catalogue, const v1::Signature& row, size_t columns)
      : catalogue_(catalogue), row_(row), columns_(columns) {}

  std::string Write() {
    out_ = Cat(Printable(row_.id()), ": ", Printable(row_.title()), '\n');
    out_ += Cat(row_.class_(), ", ", row_.role(), ", ", row_.severity(), "; printed by ",
                Printable(row_.producer()), '\n');
    if (row_.has_refines()) {
      out_ += Cat("a case of ", row_.refines().of(), ": ", row_.refines().capture(), ' ',
                  row_.refines().equals(), '\n');
    }
    Section("Quick answer", {row_.quick_answer()});
    Section("Symptom", {row_.symptom()});
    if (row_.positive_size() > 0) Log(row_.positive(0));
    Section("Mechanism", {row_.mechanism()});
    Section("Affected systems", {row_.affected()});
    Confirm();
    Fix();
    Verify();
    Related();
    Section("What it does not prove", {row_.does_not_prove()});
    Source();
    return std::move(out_);
  }

 private:
  void Section(std::string_view title, const std::vector<std::string>& items) {
    const bool numbered = items.size() > 1;
    size_t number = 0;
    for (const std::string& item : items) {
      if (item.empty()) continue;
      if (++number == 1) out_ += Cat('\n', title, '\n');
      const std::string mark = numbered ? Cat("  ", number, ". ") : "  ";
      out_ += Cat(mark, Wrap(Printable(item), columns_, std::string(mark.size(), ' ')), '\n');
    }
  }

  void Log(const std::string& line) { out_ += Cat("    ", CutMiddle(Printable(line), columns_ - 4), '\n'); }
  void Command(const std::string& command) {
    if (!command.empty()) out_ += Cat("    ", Printable(command), '\n');
  }

  void Confirm() {
    for (const std::string& code : row_.check()) {
      const v1::Remedy& check = *catalogue_.Check(code);  // Build() has checked that it is there
      Section(Cat("Confirm: ", check.title()), {check.text()});
      Command(check.command());
    }
  }

  void Fix() {
    std::vector<std::string> items(row_.advice().begin(), row_.advice().end());
    for (const std::string& code : row_.fix()) {
      const v1::Remedy& fix = *catalogue_.Fix(code);
      items.push_back(Cat(fix.title(), ": ", fix.text()));
    }
    Section("Fix", items);
  }

  // The check that confirms is the control that proves the fix.
  void Verify() {
    for (const std::string& code : row_.check()) {
      const v1::Remedy& check = *catalogue_.Check(code);
      if (check.command().empty()) continue;
      Section(
          "Verify",
          {"After the fix, run the same step again: the line must not come back, and this must be clean."});
      Command(check.command());
      return;
    }
  }

  void Related() {
    const std::pair<std::string_view, const google::protobuf::RepeatedPtrField<std::string>*> kLists[] = {
        {"see also", &row_.related()}, {"often later", &row_.precedes()}, {"often earlier", &row_.follows()}};
    std::string lines;
    for (const auto& [what, ids] : kLists) {
      for (const std::string& id : *ids) {
        lines += Cat("  ", what, ": ", id, ", ", Printable(catalogue_.Find(id)->row.title()), '\n');
      }
    }
    if (!lines.empty()) out_ += Cat("\nRelated\n", lines);
  }

  void Source() {
    std::string text = row_.source();
    for (const EvidenceRow& row : kEvidence) {
      if (row.letter == row_.evidence()) text += Cat(text.empty() ? "" : "; ", row.meaning);
    }
    Section("Source", {text});
  }

  const Catalogue& catalogue_;
  const v1::Signature& row_;
  const size_t columns_;
  std::string out_;
};

}  // namespace

std::vector<const Signature*> SearchSignatures(const Catalogue& catalogue, std::string_view text) {
  const std::string wanted = Lower(text);
  std::vector<bool> found(catalogue.signatures().size());
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = SearchedText(catalogue.signatures()[i].row).find(wanted) != std::string::npos;
  }
  for (const CompiledPattern& pattern : catalogue.patterns()) {
    if (text.empty()) break;  // all are found, and expressions compile on first use
    std::vector<re2::StringPiece> match(pattern.groups().size());
    if (pattern.re().Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, match.data(),
                           static_cast<int>(match.size()))) {
      found[RowOfMatch(catalogue, pattern, match)] = true;
    }
  }
  std::vector<const Signature*> out;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]) out.push_back(&catalogue.signatures()[i]);
  }
  return out;
}

std::string SignatureList(const std::vector<const Signature*>& rows) {
  size_t widths[3] = {};
  for (const Signature* signature : rows) {
    const v1::Signature& row = signature->row;
    widths[0] = std::max(widths[0], row.id().size());
    widths[1] = std::max(widths[1], row.class_().size());
    widths[2] = std::max(widths[2], row.role().size());
  }
  const auto padded = [](const std::string& text, size_t width) {
    return Cat(text, std::string(width - text.size() + 2, ' '));
  };
  std::string out;
  for (const Signature* signature : rows) {
    const v1::Signature& row = signature->row;
    out += Cat(padded(row.id(), widths[0]), padded(row.class_(), widths[1]), padded(row.role(), widths[2]),
               Printable(row.title()), '\n');
  }
  return out;
}

std::string SignaturePage(const Catalogue& catalogue, const Signature& signature, size_t columns) {
  return Page(catalogue, signature.row, columns).Write();
}

}  // namespace firstfault
