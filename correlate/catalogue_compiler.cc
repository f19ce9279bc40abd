// catalogue_compiler: the build-time program that turns correlate/signatures/*.txtpb into the blobs that
// the library carries: the merged catalogue with its anchors, without and with the text that only people
// read. A row that breaks a rule fails the build here, with its id. Not part of the library (it reads and
// writes files).
//
// Usage: catalogue_compiler --check FILE...            check rows and their examples
//        catalogue_compiler CATALOGUE_OUT PAGES_OUT FILE...
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "correlate/catalogue.h"
#include "correlate/catalogue_text.h"

namespace firstfault {
namespace {

bool ParseFile(const std::string& path, v1::Catalogue* out) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be opened\n", path.c_str());
    return false;
  }
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto parsed = ParseCatalogueText(path, text);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s\n", std::string(parsed.status().message()).c_str());
    return false;
  }
  *out = std::move(*parsed);
  return true;
}

// Every positive example must match some pattern of its row. (Negative and prose examples need the line
// parser as well; the catalogue test runs those.)
int CheckExamples(const Catalogue& catalogue) {
  int bad = 0;
  for (uint32_t i = 0; i < catalogue.signatures().size(); ++i) {
    const v1::Signature& row = catalogue.signatures()[i].row;
    const auto matches = [&](const std::string& line, bool any_position) {
      for (const CompiledPattern& pattern : catalogue.patterns()) {
        const bool own = row.has_refines()
                             ? catalogue.signatures()[pattern.signature].row.id() == row.refines().of()
                             : pattern.signature == i;
        if (own && (any_position || !pattern.at_start()) && RE2::PartialMatch(line, pattern.re())) return true;
      }
      return false;
    };
    const auto report = [&](const char* kind, const std::string& line) {
      std::fprintf(stderr, "%s: %s: %s\n", row.id().c_str(), kind, line.c_str());
      ++bad;
    };
    if (row.quick_answer().empty()) report("has no quick_answer", "");
    if (row.derived()) continue;
    if (row.positive().empty()) report("has no positive example", "");
    if (row.negative().empty()) report("has no negative example", "");
    if (row.prose().empty()) report("has no prose example", "");
    for (const std::string& line : row.positive()) {
      if (!matches(line, true)) report("positive example does not match", line);
    }
    if (row.has_refines()) continue;  // which value a line has is the parser's business
    for (const std::string& line : row.negative()) {
      if (matches(line, false)) report("negative example matches", line);
    }
    for (const std::string& line : row.prose()) {
      if (matches(line, false)) report("prose example matches", line);
    }
  }
  return bad;
}

// What reading logs and reasoning about them needs.
v1::Catalogue WithoutPages(v1::Catalogue rows) {
  rows.clear_healthy();
  for (v1::Signature& row : *rows.mutable_signature()) {
    row.clear_symptom();
    row.clear_mechanism();
    row.clear_affected();
    row.clear_does_not_prove();
    row.clear_related();
    row.clear_source();
    row.clear_evidence();
    row.clear_positive();
    row.clear_negative();
    row.clear_prose();
    for (v1::Pattern& pattern : *row.mutable_pattern()) pattern.clear_versions();
  }
  return rows;
}

int Main(int argc, char** argv) {
  const bool check = argc > 1 && std::string_view(argv[1]) == "--check";
  const int first_file = check ? 2 : 3;
  if (argc <= first_file) {
    std::fprintf(stderr, "usage: %s --check FILE... | CATALOGUE_OUT PAGES_OUT FILE...\n", argv[0]);
    return 64;
  }
  std::vector<v1::Catalogue> files;
  for (int i = first_file; i < argc; ++i) {
    v1::Catalogue& file = files.emplace_back();
    if (!ParseFile(argv[i], &file)) return 1;
  }
  const auto catalogue = Catalogue::Build(files);
  if (!catalogue.ok()) {
    std::fprintf(stderr, "%s\n", std::string(catalogue.status().message()).c_str());
    return 1;
  }
  if (check) {
    const int bad = CheckExamples(**catalogue);
    std::printf("%zu rows, %zu patterns, %d problems\n", (*catalogue)->signatures().size(),
                (*catalogue)->patterns().size(), bad);
    return bad == 0 ? 0 : 1;
  }
  std::ofstream(argv[1], std::ios::binary) << WithoutPages((*catalogue)->merged()).SerializeAsString();
  std::ofstream(argv[2], std::ios::binary) << (*catalogue)->merged().SerializeAsString();
  return 0;
}

}  // namespace
}  // namespace firstfault

int main(int argc, char** argv) { return firstfault::Main(argc, argv); }
