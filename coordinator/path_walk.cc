#include "coordinator/path_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr std::string_view kCodeAndDocuments[] = {
    ".c",  ".cc", ".cpp",   ".cu",   ".cuh", ".go", ".h",   ".hpp", ".html", ".ipynb",  ".java",  ".js",
    ".md", ".py", ".patch", ".diff", ".pyi", ".rs", ".rst", ".sh",  ".ts",   ".sbatch", ".slurm",
};

class Walk {
 public:
  explicit Walk(ReadProblems* problems) : problems_(problems) {}

  void Named(const std::string& path) {
    struct stat st;
    if (path == "-") {
      // A regular file behind it is known by its path as well.
      if (std::exchange(saw_stdin_, true)) return;
      const bool seen = fstat(STDIN_FILENO, &st) == 0 && !S_ISREG(st.st_mode) && SeenBefore(st);
      if (seen) return problems_->Add(Trouble::kPipeTwice, "standard input");
      found_.files.push_back({path, true, true});
      return;
    }
    if (stat(path.c_str(), &st) != 0) return NotThere(path);
    if (S_ISDIR(st.st_mode)) {
      folders_.push_back(path);
    } else if (S_ISREG(st.st_mode)) {
      File(path, st, true);
    } else if (S_ISFIFO(st.st_mode)) {
      if (SeenBefore(st)) return problems_->Add(Trouble::kPipeTwice, path);
      found_.files.push_back({path, true, true});
    } else {
      problems_->Add(Trouble::kCannotOpen, path, "a socket or device, not a log");
    }
  }

  InputFiles Finish() && {
    for (const std::string& folder : folders_) {
      struct stat st;
      if (stat(folder.c_str(), &st) == 0) Folder(folder, st);
    }
    // A link to a folder can bring more links: by index, the list grows.
    for (size_t i = 0; i < links_.size(); ++i) Link(std::string(links_[i]));
    std::sort(found_.files.begin(), found_.files.end(),
              [](const InputFile& a, const InputFile& b) { return a.path < b.path; });
    return std::move(found_);
  }

 private:
  void NotThere(const std::string& path) {
    const int error = errno;
    struct stat st;
    if (error != ENOENT) {
      problems_->Add(Trouble::kCannotOpen, path, std::strerror(error));
    } else if (lstat(path.c_str(), &st) == 0) {
      problems_->Add(Trouble::kDanglingLink, path);
    } else {
      problems_->Add(Trouble::kMissing, path);
    }
  }

  bool SeenBefore(const struct stat& st) { return !seen_.insert({st.st_dev, st.st_ino}).second; }

  void File(std::string path, const struct stat& st, bool named) {
    if (SeenBefore(st)) {
      ++found_.duplicates;
    } else if (found_.files.size() < kFilesMax) {
      found_.files.push_back({std::move(path), false, named});
    } else if (!full_) {
      full_ = true;
      problems_->Add(Trouble::kTooManyFiles, path, Cat(kFilesMax));
    }
  }

  void Link(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st) != 0) return NotThere(path);
    Entry(path, st);
  }

  void Entry(const std::string& path, const struct stat& st) {
    if (S_ISDIR(st.st_mode)) {
      Folder(path, st);
    } else if (S_ISLNK(st.st_mode)) {
      links_.push_back(path);
    } else if (!S_ISREG(st.st_mode)) {
      problems_->Add(Trouble::kSpecialFile, path);
    } else if (IsCodeOrDocument(path)) {
      ++found_.not_logs;
    } else {
      File(path, st, false);
    }
  }

  // Breadth would need as much memory as depth; recursion ends at PATH_MAX and at folders seen before.
  void Folder(const std::string& path, const struct stat& folder_stat) {
    if (SeenBefore(folder_stat)) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (!folder) return problems_->Add(Trouble::kFolderUnreadable, path, std::strerror(errno));
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(folder.get())) {
      if (!IsHiddenName(entry->d_name)) names.emplace_back(entry->d_name);
    }
    if (errno != 0) problems_->Add(Trouble::kFolderUnreadable, path, std::strerror(errno));
    std::sort(names.begin(), names.end());
    const std::string prefix = path == "." ? "" : path.ends_with('/') ? path : path + "/";
    for (const std::string& name : names) {
      struct stat st;
      if (fstatat(dirfd(folder.get()), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        Entry(prefix + name, st);
      } else if (errno != ENOENT) {  // gone since it was listed: nothing is missing
        problems_->Add(Trouble::kCannotOpen, prefix + name, std::strerror(errno));
      }
    }
  }

  ReadProblems* problems_;
  InputFiles found_;
  std::vector<std::string> folders_, links_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  bool saw_stdin_ = false;
  bool full_ = false;
};

}  // namespace

bool IsHiddenName(std::string_view name) { return name.starts_with('.') || name == "__MACOSX"; }

bool IsCodeOrDocument(std::string_view name) {
  return std::any_of(std::begin(kCodeAndDocuments), std::end(kCodeAndDocuments),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

InputFiles CollectInputFiles(const std::vector<std::string>& paths, ReadProblems* problems) {
  Walk walk(problems);
  for (const std::string& path : paths) walk.Named(path);
  return std::move(walk).Finish();
}

}  // namespace firstfault
