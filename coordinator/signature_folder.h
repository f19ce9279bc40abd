// signature_folder.h: a catalogue from a folder of *.txtpb files instead of the built-in one.
//
// Errors:  NotFound where the folder has no such file or cannot be read; InvalidArgument with file, line and
//          reason where a row breaks a rule.
// Threads: pure but for the file system.
#ifndef FIRSTFAULT_COORDINATOR_SIGNATURE_FOLDER_H_
#define FIRSTFAULT_COORDINATOR_SIGNATURE_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "correlate/source_scanner.h"

namespace firstfault {

absl::StatusOr<std::shared_ptr<const Catalogue>> LoadCatalogue(const std::string& folder);
// With its patterns compiled for this machine, which takes seconds for a large catalogue.
absl::StatusOr<Engine> LoadEngine(const std::string& folder);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_SIGNATURE_FOLDER_H_
