// read_folder.h: log folders for tests, read as `firstfault diagnose` reads them.
//
// Why:     the name of a file tells its host and rank; the path of a checkout must not. So a folder is read
//          from inside, as a user would who stands in it.
// Errors:  what the loader cannot read fails an FF_CHECK: these are our own files.
// Threads: one thread: the working directory changes while a folder is read.
#ifndef FIRSTFAULT_TESTS_GOLDEN_READ_FOLDER_H_
#define FIRSTFAULT_TESTS_GOLDEN_READ_FOLDER_H_

#include <filesystem>
#include <string>
#include <vector>

#include "coordinator/load.h"
#include "coordinator/source_reader.h"
#include "proto/report.pb.h"

namespace firstfault::golden {

// Everything in the folder but expected.json.
LoadedSources LoadFolder(const std::filesystem::path& folder);
v1::Report Diagnose(const LoadedSources& sources);

// The text of one source as the scanner gets it, with what is known of it. Hosts are settled.
struct SourceText {
  SourceInfo info;
  std::string text;
};
std::vector<SourceText> ReadTexts(const std::filesystem::path& folder);

// A folder in memory, to change and to read again.
struct LogFile {
  std::string path;  // relative to the folder
  std::string bytes;
};
using LogFolder = std::vector<LogFile>;
LogFolder ReadFiles(const std::filesystem::path& folder);

// A folder in the system's temporary place, removed at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const LogFolder& files);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace firstfault::golden

#endif  // FIRSTFAULT_TESTS_GOLDEN_READ_FOLDER_H_
