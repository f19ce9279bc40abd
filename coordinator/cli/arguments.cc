#include "coordinator/cli/arguments.h"

#include <algorithm>

#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/nearest.h"
#include "coordinator/cli/output.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

std::string UnknownFlag(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back(Cat("--", name));
  }
  const std::string flag = argument.substr(0, argument.find('='));
  return Cat("unknown argument '", argument, "'", DidYouMean(flag, flags, 1));
}

}  // namespace

std::optional<int> ParseArguments(CLI::App* app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
  const std::string see_help = Cat("\nSee ", app->get_name(), " --help.");
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return Print(app->help(), kExitOk);
  } catch (const CLI::ExtrasError&) {
    return Complain(Cat(UnknownFlag(*app, app->remaining().front()), see_help), kExitUsage);
  } catch (const CLI::ParseError& error) {
    return Complain(Cat(error.what(), see_help), kExitUsage);
  }
  return std::nullopt;
}

}  // namespace firstfault
