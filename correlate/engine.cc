// The built-in engine: the catalogue that the build compiled in.
#include "correlate/check.h"
#include "correlate/source_scanner.h"

// Emitted by engine_data.S.
extern "C" {
extern const char firstfault_catalogue_begin[];
extern const char firstfault_catalogue_end[];
extern const char firstfault_pages_begin[];
extern const char firstfault_pages_end[];
}

namespace firstfault {
namespace {

std::shared_ptr<const Catalogue> CatalogueIn(const char* begin, const char* end) {
  v1::Catalogue rows;
  FF_CHECK(rows.ParseFromArray(begin, static_cast<int>(end - begin)));
  return Catalogue::FromChecked(std::move(rows));
}

}  // namespace

const Engine& BuiltInEngine() {
  static const Engine* const engine = [] {
    const auto catalogue = CatalogueIn(firstfault_catalogue_begin, firstfault_catalogue_end);
    return new Engine{catalogue, std::make_shared<const PatternSet>(*catalogue)};
  }();
  return *engine;
}

const std::shared_ptr<const Catalogue>& BuiltInPages() {
  static const auto* const pages =
      new std::shared_ptr<const Catalogue>(CatalogueIn(firstfault_pages_begin, firstfault_pages_end));
  return *pages;
}

}  // namespace firstfault
