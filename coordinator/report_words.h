// report_words.h: the closed sets of words in a report.
//
// Why:     programs switch on these words; a new one is a change of the contract, not of a string somewhere.
// Threads: constants and a pure function.
#ifndef FIRSTFAULT_COORDINATOR_REPORT_WORDS_H_
#define FIRSTFAULT_COORDINATOR_REPORT_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "proto/report.pb.h"

namespace firstfault {

inline constexpr std::string_view kVerdictWords[] = {"named", "undetermined", "no_failure"};
inline constexpr std::string_view kClassWords[] = {"capacity",  "configuration", "transport",
                                                   "hardware",  "software",      "data",
                                                   "scheduler", "undetermined",  "none"};
// In the order in which a reader wants them.
inline constexpr std::string_view kRankRoleWords[] = {"root", "collateral", "teardown", "unrelated",
                                                      "no_evidence"};
// Empty: not said, which means a GPU.
inline constexpr std::string_view kDeviceWords[] = {"", "gpu", "nic", "nvswitch", "nvme", "pcie"};
inline constexpr std::string_view kStateWords[] = {"running", "stalled", "failed", "ended"};
inline constexpr std::string_view kFinalityWords[] = {"provisional", "final"};
inline constexpr std::string_view kSourceKindWords[] = {"rank_log",     "merged_log",      "kernel_log",
                                                        "launcher_log", "flight_recorder", "unknown"};

// "role: 'victim'" for each word of the report that is in none of the sets.
std::vector<std::string> UnknownWords(const v1::Report& report);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_REPORT_WORDS_H_
