// Catalogue files of any content are taken or refused with a message; a catalogue that is taken scans.
#include <string>
#include <string_view>

#include "correlate/catalogue.h"
#include "correlate/catalogue_text.h"
#include "correlate/check.h"
#include "correlate/pattern_set.h"
#include "correlate/source_scanner.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(firstfault::fuzz::Text(data, size));
  auto file = firstfault::ParseCatalogueText("own.txtpb", text);
  if (!file.ok()) {
    FF_CHECK(!file.status().message().empty());
    return 0;
  }
  auto catalogue = firstfault::Catalogue::Build({*std::move(file)});
  if (!catalogue.ok()) {
    FF_CHECK(!catalogue.status().message().empty());
    return 0;
  }
  const firstfault::Engine engine{*catalogue, std::make_shared<const firstfault::PatternSet>(**catalogue)};
  firstfault::ScanBuffers buffers;
  firstfault::SourceScanner scanner(engine, buffers, {});
  scanner.Feed(text);
  scanner.Finish();
  return 0;
}
