// fold.h: many ranks or hosts as one short phrase.
//
// Why:     a job has 4,096 ranks and a report has one screen.
// Threads: pure functions.
// Order:   results do not depend on the order of the input; repeats count once.
// Example: FoldNumbers({5, 0, 1, 2}) is "0-2, 5"; FoldHosts({"n02", "n01", "login"}) is "login, n[01-02]".
#ifndef FIRSTFAULT_COORDINATOR_FOLD_H_
#define FIRSTFAULT_COORDINATOR_FOLD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace firstfault {

std::string FoldNumbers(std::vector<int32_t> numbers);

// In the notation of Slurm's host lists, which drain commands take.
std::string FoldHosts(std::vector<std::string> hosts);

// "a, b, c and 4 more": the first `shown_max` of them.
std::string FoldNames(const std::vector<std::string>& names, size_t shown_max);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_FOLD_H_
