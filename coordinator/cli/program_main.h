// program_main.h: what the main functions of our commands share.
#ifndef FIRSTFAULT_COORDINATOR_CLI_PROGRAM_MAIN_H_
#define FIRSTFAULT_COORDINATOR_CLI_PROGRAM_MAIN_H_

#include <string>
#include <vector>

namespace firstfault {

// Runs the program; its exit code. Where the fault is ours and not the job's, callers are told so by kExitBug.
int ProgramMain(int argc, char** argv, int (*run)(const std::vector<std::string>& arguments));

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_PROGRAM_MAIN_H_
