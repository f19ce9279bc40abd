// firstfault-live: the commands that need a coordinator. Started by the firstfault command, with its arguments.
#include "coordinator/cli/commands.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/program_main.h"
#include "proto/credentials.h"

namespace firstfault {
namespace {

struct LiveCommand {
  std::string_view name;
  int (*run)(const std::vector<std::string>& arguments);
};
constexpr LiveCommand kLiveCommands[] = {{"doctor", Doctor}, {"jobs", Jobs}, {"run", Run}, {"why", Why}};

int RunLiveCommand(const std::vector<std::string>& arguments) {
  for (const LiveCommand& command : kLiveCommands) {
    if (!arguments.empty() && arguments.front() == command.name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  return Complain("firstfault-live is a part of the command firstfault; see firstfault --help", kExitUsage);
}

}  // namespace
}  // namespace firstfault

int main(int argc, char** argv) {
  firstfault::QuietGrpc();
  return firstfault::ProgramMain(argc, argv, firstfault::RunLiveCommand);
}
