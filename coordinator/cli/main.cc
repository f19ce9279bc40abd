// The firstfault command.
#include "coordinator/cli/commands.h"
#include "coordinator/cli/program_main.h"

int main(int argc, char** argv) { return firstfault::ProgramMain(argc, argv, firstfault::RunCommandLine); }
