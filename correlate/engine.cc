// The built-in engine: the catalogue that the build compiled in.
#include "correlate/check.h"
#include "correlate/source_scanner.h"

// Emitted by engine_data.S.
extern "C" {
extern const char firstfault_catalogue_begin[];
extern const char firstfault_catalogue_end[];
}

namespace firstfault {

const Engine& BuiltInEngine() {
  static const Engine* const engine = [] {
    v1::Catalogue rows;
    FF_CHECK(rows.ParseFromArray(firstfault_catalogue_begin,
                                 static_cast<int>(firstfault_catalogue_end - firstfault_catalogue_begin)));
    const auto catalogue = Catalogue::FromChecked(std::move(rows));
    return new Engine{catalogue, std::make_shared<const PatternSet>(*catalogue)};
  }();
  return *engine;
}

}  // namespace firstfault
