#include "tests/golden/read_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "coordinator/host_names.h"
#include "correlate/check.h"
#include "correlate/correlate.h"

namespace firstfault::golden {
namespace {

namespace fs = std::filesystem;

class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

  // What the user would name: the files and folders here.
  std::vector<std::string> Entries() const {
    std::vector<std::string> out;
    for (const fs::directory_entry& entry : fs::directory_iterator(".")) {
      const std::string name = entry.path().filename().string();
      if (name != "expected.json") out.push_back(name);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  fs::path before_;
};

class TextCollector : public SourceVisitor {
 public:
  void Begin(const SourceInfo& info) override { texts_.push_back({info, ""}); }
  void Bytes(std::string_view text) override { texts_.back().text += text; }
  void Hole(uint64_t) override { FF_CHECK(false); }  // no golden file is sparse
  void End() override {}
  std::vector<SourceText> Take() { return std::move(texts_); }

 private:
  std::vector<SourceText> texts_;
};

}  // namespace

LoadedSources LoadFolder(const fs::path& folder) {
  const InFolder here(folder);
  auto loaded = LoadSources(BuiltInEngine(), here.Entries(), {});
  FF_CHECK(loaded.ok());
  return *std::move(loaded);
}

v1::Report Diagnose(const LoadedSources& sources) {
  CorrelateOptions options;
  options.input_problems = sources.problems;
  return Correlate(BuiltInEngine(), sources.digests, options);
}

std::vector<SourceText> ReadTexts(const fs::path& folder) {
  const InFolder here(folder);
  TextCollector collector;
  FF_CHECK(ReadSources(here.Entries(), {}, &collector).ok());
  std::vector<SourceText> out = collector.Take();
  std::vector<SourceInfo*> infos;
  for (SourceText& source : out) infos.push_back(&source.info);
  NameHostsBySiblings(infos);
  return out;
}

LogFolder ReadFiles(const fs::path& folder) {
  LogFolder out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "expected.json") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    out.push_back({fs::relative(entry.path(), folder).string(),
                   std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>())});
  }
  std::sort(out.begin(), out.end(), [](const LogFile& a, const LogFile& b) { return a.path < b.path; });
  return out;
}

ScratchFolder::ScratchFolder(const LogFolder& files) {
  std::string name = (fs::temp_directory_path() / "firstfault-XXXXXX").string();
  FF_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
  for (const LogFile& file : files) {
    fs::create_directories((path_ / file.path).parent_path());
    std::ofstream(path_ / file.path, std::ios::binary) << file.bytes;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace firstfault::golden
