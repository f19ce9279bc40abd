// variations.h: the same incident, logged differently.
//
// Why:     a verdict may rest on what happened, not on names, clocks, order of files or harmless lines.
// Model:   pure changes of a folder in memory; what needs knowledge of the sources takes their digests.
// Errors:  nullopt where a change has nothing to change in this folder.
// Threads: pure; all chance comes from the generator that is passed in.
#ifndef FIRSTFAULT_TESTS_GOLDEN_VARIATIONS_H_
#define FIRSTFAULT_TESTS_GOLDEN_VARIATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/event.h"
#include "correlate/source_scanner.h"
#include "tests/golden/read_folder.h"

namespace firstfault::golden {

using Random = std::mt19937;
using Names = std::map<std::string, std::string>;  // old host to new host, short names

// Short names of the hosts in these sources and of `more`, that can be replaced safely: with a digit or a
// last single letter, and no address.
std::set<std::string> HostsOf(const std::vector<SourceDigest>& digests, const std::vector<std::string>& more);
// Other letters, same shape; words with a meaning to readers ("worker", "slice") stay.
Names NewNames(const std::set<std::string>& hosts, Random& random);
// The hosts change names among themselves: nobody is first by name.
Names SwappedNames(const std::set<std::string>& hosts, Random& random);
// In bytes and file names, whole names only.
LogFolder RenameHosts(const LogFolder& folder, const Names& names);

// All calendar stamps moved: ISO-like dates with time, glog's MMDD, syslog's "Jan  2", "01-02 03:04:05".
std::string ShiftStamps(std::string_view text, int64_t seconds);
// The clock of one host: files that are this host's alone. nullopt where there are none.
std::optional<LogFolder> ShiftHost(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                   const std::set<std::string>& hosts, const std::string& host,
                                   int64_t seconds);

// Harmless lines of the catalogue without time, place or progress in them.
std::vector<std::string> NoiseLines(const Engine& engine);
// Noise in front of log records, never inside a block, behind the prefix that the neighbour has from
// collectors and launchers.
std::optional<LogFolder> AddNoise(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                  const std::vector<std::string>& noise, Random& random);

// One file cut at a record as logrotate leaves it: "x.log.1" is the older part.
std::optional<LogFolder> Rotate(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                const std::string& path, Random& random);
// The log of one rank and that of another of the same host as one file whose lines name their rank.
std::optional<LogFolder> JoinRanks(const LogFolder& folder, const std::vector<SourceDigest>& digests,
                                   const std::string& path, Random& random);

// Without the events of one signature, their blocks included, and without the line `text`. False where
// nothing was there.
bool RemoveEvents(const std::vector<SourceDigest>& digests, uint32_t signature, LogFolder* folder);
bool RemoveLine(std::string_view path, std::string_view text, LogFolder* folder);

}  // namespace firstfault::golden

#endif  // FIRSTFAULT_TESTS_GOLDEN_VARIATIONS_H_
