#include "correlate/pattern_set.h"

#include <hs/hs.h>

#include "correlate/text.h"
#include "correlate/check.h"

namespace firstfault {

PatternSet::Scratch::Scratch(const PatternSet& set) {
  FF_CHECK(hs_alloc_scratch(set.database_, &scratch_) == HS_SUCCESS);
}

PatternSet::Scratch::~Scratch() { hs_free_scratch(scratch_); }

PatternSet::~PatternSet() { hs_free_database(database_); }

absl::StatusOr<std::unique_ptr<PatternSet>> PatternSet::Compile(const Catalogue& catalogue, Target target) {
  const auto& patterns = catalogue.patterns();
  std::vector<const char*> expressions;
  std::vector<unsigned> flags(patterns.size(), 0);
  std::vector<unsigned> ids;
  for (size_t i = 0; i < patterns.size(); ++i) {
    expressions.push_back(patterns[i].regex.c_str());
    ids.push_back(static_cast<unsigned>(i));
  }
  if (patterns.empty()) return absl::InvalidArgumentError("the catalogue has no patterns");
  hs_platform_info_t baseline{};  // no CPU feature beyond what the library itself needs
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_compile_multi(expressions.data(), flags.data(), ids.data(), static_cast<unsigned>(patterns.size()),
                       HS_MODE_BLOCK, target == Target::kBaselineCpu ? &baseline : nullptr, &database,
                       &error) != HS_SUCCESS) {
    std::string where = "pattern set";
    if (error->expression >= 0) {
      const CompiledPattern& pattern = patterns[static_cast<size_t>(error->expression)];
      where = Cat("signature ", catalogue.signatures()[pattern.signature].row.id(), ": pattern '",
                           pattern.regex, "'");
    }
    const absl::Status status = absl::InvalidArgumentError(Cat(where, ": ", error->message));
    hs_free_compile_error(error);
    return status;
  }
  return std::unique_ptr<PatternSet>(new PatternSet(database));
}

absl::StatusOr<std::unique_ptr<PatternSet>> PatternSet::Deserialize(std::string_view bytes) {
  hs_database_t* database = nullptr;
  const hs_error_t error = hs_deserialize_database(bytes.data(), bytes.size(), &database);
  if (error != HS_SUCCESS) {
    return absl::FailedPreconditionError(
        Cat("the pattern database does not fit this machine or library (error ", error, ")"));
  }
  return std::unique_ptr<PatternSet>(new PatternSet(database));
}

std::string PatternSet::Serialize() const {
  char* bytes = nullptr;
  size_t length = 0;
  FF_CHECK(hs_serialize_database(database_, &bytes, &length) == HS_SUCCESS);
  std::string out(bytes, length);
  std::free(bytes);
  return out;
}

void PatternSet::Scan(std::string_view chunk, Scratch& scratch, std::vector<Hit>* hits) const {
  FF_CHECK(chunk.size() <= UINT32_MAX);
  const auto on_match = [](unsigned id, unsigned long long, unsigned long long to, unsigned, void* context) {
    static_cast<std::vector<Hit>*>(context)->push_back({to, id});
    return 0;
  };
  FF_CHECK(hs_scan(database_, chunk.data(), static_cast<unsigned>(chunk.size()), 0, scratch.scratch_, on_match,
                   hits) == HS_SUCCESS);
}

}  // namespace firstfault
