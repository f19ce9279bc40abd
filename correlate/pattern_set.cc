#include "correlate/pattern_set.h"

#include <hs/hs.h>

#include <map>

#include "correlate/text.h"
#include "correlate/check.h"

namespace firstfault {

PatternSet::Scratch::Scratch(const PatternSet& set) {
  FF_CHECK(hs_alloc_scratch(set.database_, &scratch_) == HS_SUCCESS);
}

PatternSet::Scratch::~Scratch() { hs_free_scratch(scratch_); }

PatternSet::~PatternSet() { hs_free_database(database_); }

PatternSet::PatternSet(const Catalogue& catalogue) {
  std::map<std::string_view, uint32_t> index;
  for (uint32_t i = 0; i < catalogue.patterns().size(); ++i) {
    if (catalogue.signatures()[catalogue.patterns()[i].signature].row.lazy()) lazy_.push_back(i);
    for (const std::string& anchor : catalogue.patterns()[i].row->anchor()) {
      const auto [it, fresh] = index.try_emplace(anchor, static_cast<uint32_t>(anchors_.size()));
      if (fresh) {
        anchors_.push_back(anchor);
        patterns_of_.emplace_back();
      }
      patterns_of_[it->second].push_back(i);
    }
  }
}

absl::StatusOr<std::unique_ptr<PatternSet>> PatternSet::Compile(const Catalogue& catalogue, Target target) {
  std::unique_ptr<PatternSet> set(new PatternSet(catalogue));
  if (set->anchors_.empty()) return absl::InvalidArgumentError("the catalogue has no patterns to scan for");
  std::vector<const char*> expressions;
  std::vector<size_t> lengths;
  std::vector<unsigned> flags(set->anchors_.size(), HS_FLAG_CASELESS);
  std::vector<unsigned> ids;
  for (const std::string& anchor : set->anchors_) {
    expressions.push_back(anchor.data());
    lengths.push_back(anchor.size());
    ids.push_back(static_cast<unsigned>(ids.size()));
  }
  hs_platform_info_t baseline{};  // no CPU feature beyond what the library itself needs
  hs_compile_error_t* error = nullptr;
  if (hs_compile_lit_multi(expressions.data(), flags.data(), ids.data(), lengths.data(),
                           static_cast<unsigned>(ids.size()), HS_MODE_BLOCK,
                           target == Target::kBaselineCpu ? &baseline : nullptr, &set->database_, &error) != HS_SUCCESS) {
    const absl::Status status = absl::InvalidArgumentError(Cat("pattern set: ", error->message));
    hs_free_compile_error(error);
    return status;
  }
  return set;
}

absl::StatusOr<std::unique_ptr<PatternSet>> PatternSet::Deserialize(const Catalogue& catalogue, std::string_view bytes) {
  std::unique_ptr<PatternSet> set(new PatternSet(catalogue));
  const hs_error_t error = hs_deserialize_database(bytes.data(), bytes.size(), &set->database_);
  if (error != HS_SUCCESS) {
    return absl::FailedPreconditionError(Cat("the pattern database does not fit this machine or library (error ", error, ")"));
  }
  return set;
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
