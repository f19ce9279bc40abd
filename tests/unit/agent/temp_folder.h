// temp_folder.h: a folder in the system's temporary place, removed at the end.
#ifndef FIRSTFAULT_TESTS_UNIT_AGENT_TEMP_FOLDER_H_
#define FIRSTFAULT_TESTS_UNIT_AGENT_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace firstfault::agent {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "firstfault-agent-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string Path(const std::string& name) const { return (path_ / name).string(); }
  void Append(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::app) << text;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_TESTS_UNIT_AGENT_TEMP_FOLDER_H_
