// read_problems.h: what could not be read, in sentences.
//
// Why:     a verdict must say what it did not see, and a folder of 20,000 unreadable files must not say
//          so 20,000 times.
// Model:   each kind of trouble is a row of a table: what happened, and what the user can do. The first
//          few of a kind are named, the others counted in one sentence.
// Threads: thread-compatible.
// Order:   by kind, then in the order of Add().
#ifndef FIRSTFAULT_COORDINATOR_READ_PROBLEMS_H_
#define FIRSTFAULT_COORDINATOR_READ_PROBLEMS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

enum class Trouble : uint8_t {
  kMissing,
  kDanglingLink,
  kCannotOpen,
  kFolderUnreadable,
  kReadFailed,
  kShrank,
  kSpecialFile,
  kPipeTwice,
  kDamaged,
  kMoreBehind,
  kEncrypted,
  kNestedArchive,
  kTooManyBytes,
  kTooMuchMemory,
  kTooManyMembers,
  kTooManyFiles,
  kNotDecoded,
  kJournalFile,
  kVerdict,
  kCount,
};

// How a stream that could not be read to its end broke off.
struct ReadFailure {
  Trouble trouble = Trouble::kReadFailed;
  std::string detail;  // the system's or the library's own words
};

class ReadProblems {
 public:
  // Of each kind, this many are named. More would hide the other kinds in the report.
  static constexpr size_t kNamedMax = 3;

  void Add(Trouble trouble, std::string_view path, std::string_view detail = {});
  std::vector<std::string> Sentences() const;
  // How many logs were begun and not read to their end.
  int64_t broken_off() const;

 private:
  struct Kind {
    std::vector<std::string> named;
    int64_t count = 0;
  };
  std::array<Kind, static_cast<size_t>(Trouble::kCount)> kinds_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_READ_PROBLEMS_H_
