// catalogue.h: the signature table, indexed for lookup.
//
// Why:     everything firstfault knows about log lines is data (proto/signature.proto); this is the one
//          place that turns it into rows with checked enums, compiled captures and stable indices.
// Shapes:  `signatures()` is sorted by id; `patterns()` follow in that order and are named by their index.
// Errors:  Build returns InvalidArgument that names the row and what to change; nothing is half built.
// Threads: immutable after Build; safe to share.
#ifndef FIRSTFAULT_CORRELATE_CATALOGUE_H_
#define FIRSTFAULT_CORRELATE_CATALOGUE_H_

#include <re2/re2.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/signature.pb.h"

namespace firstfault {

enum class FaultClass : uint8_t {
  kNone, kCapacity, kConfiguration, kTransport, kHardware, kSoftware, kData, kScheduler, kUndetermined
};
enum class Role : uint8_t { kContext, kBenign, kPrecursor, kTeardown, kCollateral, kAmbiguous, kInitiating };
enum class Severity : uint8_t { kInfo, kWarning, kError, kFatal };

// Words used in the catalogue and in reports. FromWord returns nullopt for an unknown word.
std::string_view Word(FaultClass value);
std::string_view Word(Role value);
std::string_view Word(Severity value);
std::optional<FaultClass> FaultClassFromWord(std::string_view word);
std::optional<Role> RoleFromWord(std::string_view word);
std::optional<Severity> SeverityFromWord(std::string_view word);

// How the text of a capture is read. The name of a capture decides its type, so that a field means the
// same in every row: `seq` is always a sequence number.
enum class CaptureType : uint8_t {
  kText,      // as printed
  kInteger,   // signed decimal
  kSize,      // "6.11 GiB", "20480", "16.00GiB": bytes (1024-based, as the allocators print)
  kRankList,  // "1, 3, 5-7" or "[0, 1]"
};
// nullopt: the name is not in the table and may not be used in a pattern.
std::optional<CaptureType> CaptureTypeOf(std::string_view capture_name);

struct Signature {
  const v1::Signature& row;
  FaultClass fault_class = FaultClass::kUndetermined;
  Role role = Role::kAmbiguous;
  Severity severity = Severity::kError;
};

// A pattern of a row. The expression is compiled on first use: most patterns never see a candidate line,
// and start-up must cost nothing.
class CompiledPattern {
 public:
  CompiledPattern(uint32_t signature_in, const v1::Pattern& row_in) : signature(signature_in), row(&row_in) {}

  const uint32_t signature;  // index into signatures()
  const v1::Pattern* const row;
  bool at_start() const { return row->at() == "START"; }  // only where the message begins
  const std::string& regex() const { return row->regex(); }
  // With captures, Latin-1. Thread-safe.
  const RE2& re() const;
  // Capture names by group number, [0] unused.
  const std::vector<std::string>& groups() const;

 private:
  void Compile() const;
  mutable std::once_flag once_;
  mutable std::unique_ptr<RE2> re_;
  mutable std::vector<std::string> groups_;
};

class Catalogue {
 public:
  // Checks every row and compiles the patterns. `files` are parsed catalogue files, in any order.
  static absl::StatusOr<std::shared_ptr<const Catalogue>> Build(const std::vector<v1::Catalogue>& files);
  // A catalogue that Build has checked before (the one compiled into the program): only indexed.
  static std::shared_ptr<const Catalogue> FromChecked(v1::Catalogue rows);

  const std::vector<Signature>& signatures() const { return signatures_; }
  const std::deque<CompiledPattern>& patterns() const { return patterns_; }
  // The row with this id, or nullptr.
  const Signature* Find(std::string_view id) const;
  std::optional<uint32_t> IndexOf(std::string_view id) const;
  // The row that refines `signature` for a captured value, or `signature` itself.
  uint32_t Refine(uint32_t signature, std::string_view capture, std::string_view value) const;
  const v1::Remedy* Fix(std::string_view id) const;
  const v1::Remedy* Check(std::string_view id) const;
  const v1::ExitMeaning* Exit(int code) const;
  const v1::Catalogue& merged() const { return merged_; }

  Catalogue() = default;
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

 private:
  v1::Catalogue merged_;
  std::vector<Signature> signatures_;
  absl::Status Check() const;
  void FillAnchors();
  void Index();

  std::deque<CompiledPattern> patterns_;  // a deque: rows are neither copied nor moved
  std::map<std::string, uint32_t, std::less<>> by_id_;
  std::map<std::string, uint32_t, std::less<>> refined_;  // "of\ncapture\nvalue"
  std::map<std::string, const v1::Remedy*, std::less<>> remedies_;
  std::map<int, const v1::ExitMeaning*> exits_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CATALOGUE_H_
