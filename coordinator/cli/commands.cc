#include "coordinator/cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/nearest.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/programs.h"
#include "correlate/text.h"
#include "correlate/version.h"

namespace firstfault {
namespace {

int Version(const std::vector<std::string>& arguments) {
  CLI::App app("Print the version.", "firstfault version");
  if (const auto code = ParseArguments(&app, arguments)) return *code;
  return Print(Cat("firstfault ", kVersion, '\n'), kExitOk);
}

// Goes on as the program that has the command.
int RunLive(const std::vector<std::string>& arguments) {
  const std::string program = ProgramFolder() + "/firstfault-live";
  std::vector<std::string> words = {"firstfault"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  return Complain(Cat("cannot start ", program, ": ", std::strerror(errno), "; it belongs beside firstfault"), kExitBug);
}

constexpr Command kCommands[] = {
    {"diagnose", "read logs of a failed job and name what failed first", Diagnose},
    {"doctor", "check a set-up; make certificates and tokens", nullptr},
    {"jobs", "list the jobs that a coordinator knows", nullptr},
    {"run", "run a job's launcher and say what failed first when it fails", nullptr},
    {"signatures", "list, search and explain the known failures", Signatures},
    {"why", "ask a coordinator what failed first in a job", nullptr},
    {"version", "print the version", Version},
};

std::string Help() {
  size_t width = 0;
  for (const Command& command : kCommands) width = std::max(width, command.name.size());
  std::string out = "firstfault names which rank of a multi-host job failed first, and why.\n\nCommands\n";
  for (const Command& command : kCommands) {
    out += Cat("  ", command.name, std::string(width - command.name.size() + 2, ' '), command.help, '\n');
  }
  return out + "\nfirstfault COMMAND --help says more.\n";
}

// What people type before they know the commands.
struct Alias {
  std::string_view typed, command;
};
constexpr Alias kAliases[] = {{"--version", "version"}, {"-V", "version"}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

int RunCommandLine(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Complain(Cat("no command\n", Help()), kExitUsage);
  std::string_view name = arguments.front();
  for (const std::string_view help : {"--help", "-h", "help"}) {
    if (name == help) return Print(Help(), kExitOk);
  }
  for (const Alias& alias : kAliases) {
    if (name == alias.typed) name = alias.command;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run == nullptr ? RunLive(arguments) : command.run({arguments.begin() + 1, arguments.end()});
    names.emplace_back(command.name);
  }
  return Complain(Cat("unknown command '", name, "'", DidYouMean(name, names, 1), "\nSee firstfault --help."),
                  kExitUsage);
}

}  // namespace firstfault
