#include "coordinator/cli/exit_codes.h"

#include <string_view>

namespace firstfault {
namespace {

struct Row {
  std::string_view fault_class;
  int code;
};
constexpr Row kRows[] = {
    {"none", kExitOk}, {"capacity", 10},  {"configuration", 11},
    {"transport", 12}, {"hardware", 13},  {"software", 14},
    {"data", 15},      {"scheduler", 16}, {"undetermined", kExitUndetermined},
};

}  // namespace

int ExitCodeOf(const v1::Report& report) {
  if (report.verdict() == "undetermined") return kExitUndetermined;
  for (const Row& row : kRows) {
    if (row.fault_class == report.class_()) return row.code;
  }
  return kExitBug;
}

}  // namespace firstfault
