// path_walk.h: from the paths of a command line to the files to read.
//
// Why:     a log folder holds links to itself, the same log under two names, editor leftovers and source
//          code; each log is to be read once, in an order that does not depend on the file system.
// Model:   files named by the user are read whatever they are called. In folders, hidden names, source
//          code and documents are passed over: code quotes the errors that it handles. Links are followed
//          last, so a log that is also reached through a link keeps its own name.
// Order:   sorted by path; independent of the order of the arguments.
// Errors:  what cannot be listed goes to `problems`.
// Threads: pure but for the file system.
#ifndef FIRSTFAULT_COORDINATOR_PATH_WALK_H_
#define FIRSTFAULT_COORDINATOR_PATH_WALK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/read_problems.h"

namespace firstfault {

// A folder tree with more files than this is not the logs of one job; 4,096 ranks with stdout, stderr and
// an error file in 16 attempts each are 196,608.
inline constexpr size_t kFilesMax = 1'000'000;

struct InputFile {
  std::string path;        // as shown; "-" is standard input
  bool is_stream = false;  // a pipe: read until it ends
  bool named = false;      // by the user, not found in a folder
};

struct InputFiles {
  std::vector<InputFile> files;
  int64_t duplicates = 0;  // the same file under another name
  int64_t not_logs = 0;    // source code and documents
};

InputFiles CollectInputFiles(const std::vector<std::string>& paths, ReadProblems* problems);

// Name parts that are passed over in folders and archives.
bool IsHiddenName(std::string_view name);
bool IsCodeOrDocument(std::string_view name);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_PATH_WALK_H_
