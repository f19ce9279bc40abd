#include "coordinator/signature_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "correlate/catalogue_text.h"
#include "correlate/text.h"

namespace firstfault {

absl::StatusOr<std::shared_ptr<const Catalogue>> LoadCatalogue(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".txtpb") paths.push_back(it->path());
  }
  if (error) return absl::NotFoundError(Cat(folder, " cannot be read: ", error.message()));
  if (paths.empty()) return absl::NotFoundError(Cat(folder, " has no *.txtpb file"));
  std::sort(paths.begin(), paths.end());
  std::vector<v1::Catalogue> files;
  for (const std::filesystem::path& path : paths) {
    if (!std::filesystem::is_regular_file(path, error)) return absl::NotFoundError(Cat(path.string(), " is no regular file"));
    std::ifstream in(path, std::ios::binary);
    if (!in) return absl::NotFoundError(Cat(path.string(), " cannot be opened"));
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto file = ParseCatalogueText(path.string(), text);
    if (!file.ok()) return file.status();
    files.push_back(std::move(*file));
  }
  return Catalogue::Build(files);
}

absl::StatusOr<Engine> LoadEngine(const std::string& folder) {
  auto catalogue = LoadCatalogue(folder);
  if (!catalogue.ok()) return catalogue.status();
  auto patterns = std::make_shared<const PatternSet>(**catalogue);
  return Engine{*std::move(catalogue), std::move(patterns)};
}

}  // namespace firstfault
