// The built-in engine: the catalogue and the pattern database that the build compiled in.
#include "correlate/check.h"
#include "correlate/source_scanner.h"

// Emitted by engine_data.S.
extern "C" {
extern const char firstfault_catalogue_begin[];
extern const char firstfault_catalogue_end[];
extern const char firstfault_database_begin[];
extern const char firstfault_database_end[];
}

namespace firstfault {

const Engine& BuiltInEngine() {
  static const Engine* const engine = [] {
    v1::Catalogue rows;
    FF_CHECK(rows.ParseFromArray(firstfault_catalogue_begin,
                                 static_cast<int>(firstfault_catalogue_end - firstfault_catalogue_begin)));
    const auto catalogue = Catalogue::FromChecked(std::move(rows));
    auto patterns = PatternSet::Deserialize(
        *catalogue, {firstfault_database_begin, static_cast<size_t>(firstfault_database_end - firstfault_database_begin)});
    FF_CHECK(patterns.ok());
    return new Engine{catalogue, std::shared_ptr<const PatternSet>(std::move(*patterns))};
  }();
  return *engine;
}

}  // namespace firstfault
