// catalogue_text.h: the text form of catalogue files, parsed.
//
// Why:     the build and `--signatures DIR` read the same files and must complain in the same words.
// Errors:  InvalidArgument with one "name:line:column: message" a line.
// Threads: pure function.
#ifndef FIRSTFAULT_CORRELATE_CATALOGUE_TEXT_H_
#define FIRSTFAULT_CORRELATE_CATALOGUE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/signature.pb.h"

namespace firstfault {

// `name` is the file's, for messages.
absl::StatusOr<v1::Catalogue> ParseCatalogueText(std::string_view name, const std::string& text);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_CATALOGUE_TEXT_H_
