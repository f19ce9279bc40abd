// firstfault signatures: the catalogue for people.
#include <memory>

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/nearest.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/signature_pages.h"
#include "coordinator/signature_folder.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kNearIds = 5;

int ShowPage(const Catalogue& catalogue, const std::string& id) {
  if (const Signature* signature = catalogue.Find(id)) {
    return Print(SignaturePage(catalogue, *signature, OutputColumns()), kExitOk);
  }
  std::vector<std::string> ids;
  for (const Signature& signature : catalogue.signatures()) ids.push_back(signature.row.id());
  return Complain(Cat("unknown signature '", id, "'", DidYouMean(id, ids, kNearIds)), kExitUsage);
}

int ShowSearch(const Catalogue& catalogue, const std::string& text) {
  const std::vector<const Signature*> found = SearchSignatures(catalogue, text);
  if (found.empty()) return Complain(Cat("no signature has '", text, "'"), kExitOk);
  return Print(SignatureList(found), kExitOk);
}

}  // namespace

int Signatures(const std::vector<std::string>& arguments) {
  std::string id, search, folder;
  CLI::App app("List, search and explain the known failures.", "firstfault signatures");
  const auto page = app.add_option("ID", id, "Print the page of this signature");
  app.add_option("--search", search, "List those with this text, or those that a line of a log matches")
      ->excludes(page);
  app.add_option("--signatures", folder, "Folder of *.txtpb files instead of the built-in catalogue");
  if (const auto code = ParseArguments(&app, arguments)) return *code;

  std::shared_ptr<const Catalogue> catalogue;
  if (folder.empty()) {
    catalogue = BuiltInPages();
  } else {
    auto loaded = LoadCatalogue(folder);
    if (!loaded.ok()) return Complain(loaded.status());
    catalogue = *std::move(loaded);
  }
  return id.empty() ? ShowSearch(*catalogue, search) : ShowPage(*catalogue, id);
}

}  // namespace firstfault
