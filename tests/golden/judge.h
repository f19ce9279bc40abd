// judge.h: a golden case, and how a report on it is judged.
//
// Why:     one reading of expected.json for every test that asks "is this verdict right"; two numbers are
// kept
//          apart, named right and named wrongly, and abstaining is neither.
// Model:   a folder of tests/golden holds the logs as a user has them, and expected.json. The rules are in
//          tests/golden/README.md.
// Errors:  a malformed expected.json ends the program: a case that is not judged is only a comment.
// Threads: pure functions.
#ifndef FIRSTFAULT_TESTS_GOLDEN_JUDGE_H_
#define FIRSTFAULT_TESTS_GOLDEN_JUDGE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/report.pb.h"

namespace firstfault::golden {

struct Case {
  std::string name;  // of the folder, below the root
  std::string group;  // the folder that its kind has, if any
  std::filesystem::path folder;
  std::optional<int32_t> rank;
  std::string host;                                 // empty: not known from these files
  std::vector<std::optional<int32_t>> rank_accept;  // nullopt: naming only the host is right too
  std::string fault_class;
  std::vector<std::string> class_accept;
  std::vector<std::string> root, first_warning;  // texts that count as right; empty: not judged
  std::vector<std::string> fix_keywords;
  std::vector<int32_t> collateral_ranks;
  bool undetermined_ok = false;

  bool healthy() const { return fault_class == "none"; }
  bool asks_place() const { return rank.has_value() || !host.empty(); }
  std::string_view verdict() const {
    return healthy() ? "no_failure" : fault_class == "undetermined" ? "undetermined" : "named";
  }
  // Cases below 100 were handed to us; the others we wrote ourselves.
  bool handed() const;
};

// Every folder below `root` with an expected.json, by name.
std::vector<Case> ReadCases(const std::filesystem::path& root);

enum class Mark : uint8_t { kNotAsked, kRight, kWrong };

struct Judgement {
  bool named_wrongly = false;
  Mark place = Mark::kWrong;  // the verdict, and the place where the case has one
  Mark fault_class = Mark::kWrong;
  Mark root = Mark::kNotAsked, first_warning = Mark::kNotAsked;
  Mark advice = Mark::kNotAsked, roles = Mark::kNotAsked;
  std::vector<std::string> complaints;  // a sentence for each wrong mark
};

Judgement Judge(const Case& expected, const v1::Report& report);

// Whether the case accepts this place. Empty host: not named.
bool AcceptsPlace(const Case& expected, std::optional<int32_t> rank, std::string_view host);

// "rank 3 on n01", "host n01", "no place".
std::string PlaceText(std::optional<int32_t> rank, std::string_view host);
std::string PlaceText(const v1::Report& report);

}  // namespace firstfault::golden

#endif  // FIRSTFAULT_TESTS_GOLDEN_JUDGE_H_
