// incident.h: all events of one attempt of one job, each with its place.
//
// Why:     a line rarely names its rank and host itself; the maps that other lines give (NCCL init, torchrun
//          reports, file names, pids, PCI addresses) do. This stage joins them once, for all later stages.
// Model:   first collect identity facts from every source, then place every event by a fixed order of
//          trust. Every answer says how it is known.
// Order:   results do not depend on the order of sources: they are sorted by path first.
// Threads: pure functions; an Incident points into the digests, which must outlive it.
// Source:  shared reference log-prefixes, sections 1 and 11.
#ifndef FIRSTFAULT_CORRELATE_INCIDENT_H_
#define FIRSTFAULT_CORRELATE_INCIDENT_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "correlate/catalogue.h"
#include "correlate/event.h"

namespace firstfault {

struct CorrelateOptions;

// Where something happened. Absent fields are not known.
struct Location {
  std::optional<int32_t> rank, local_rank, pid, device;
  std::string host;     // short name, or empty
  std::string bus;      // PCI address, "0000:41:00"
  std::string uuid;
  std::string process;
  std::vector<std::string> known_by;  // in the order found: "rank: line prefix", "host: file name"
};

struct PlacedEvent {
  const Event* event = nullptr;
  const Signature* signature = nullptr;
  const SourceDigest* source = nullptr;
  Location place;
  // Whom the line accuses, where its signature does.
  bool accuses = false;
  std::vector<int32_t> accused_ranks;
  std::vector<std::string> accused_hosts;
  std::string_view id() const { return signature->row.id(); }
};

// Rows that only report the end of somebody's process: pointers to a rank, never a cause of their own.
bool IsEndReport(std::string_view id);

// Whether a process that the kernel ended so leaves this exit code. A process may also outlive its child's end, and say
// so in a code of its own: its own line tells that.
bool LeavesCode(std::string_view kernel_death, int32_t exit_code);

// Of the level that a logger gives a line: the program goes on behind it.
bool IsCaughtLevel(std::string_view level);

// A line and the log it is in.
struct PlacedRemark {
  const SourceDigest* source = nullptr;
  const Remark* remark = nullptr;
};

// What is known of one rank, from all sources.
struct RankFacts {
  std::string host;
  std::optional<int32_t> local_rank, device, pid, exit_code;
  std::string bus;
  const Writer* last_words = nullptr;
  const SourceDigest* last_words_source = nullptr;
  bool steps = false;  // it prints training steps itself
  // Of this rank alone, while the job trained: behind the first step of their log, in the order of logs.
  std::vector<PlacedRemark> remarks;
};

// A launcher or scheduler says that a process ended, and how.
struct EndReport {
  const PlacedEvent* event = nullptr;  // index valid after building: see Incident::events
  std::optional<int32_t> rank;         // absent: only its host is known
  std::optional<int32_t> exit_code;    // negative: a signal
  std::string host;
  bool first = false;     // the launcher saw it end before all others of its host
  bool told_to = false;   // ended because it was told to
};

struct Incident {
  const Catalogue* catalogue = nullptr;
  std::vector<const SourceDigest*> sources;  // sorted by path
  std::vector<PlacedEvent> events;           // by source, then line
  std::map<int32_t, RankFacts> ranks;        // every rank seen
  std::optional<int32_t> world_size;         // where a log says so
  int32_t ranks_expected = 0;                // at least this many ranks, as the launchers' blocks show
  std::set<std::string> hosts;               // every host seen
  std::map<std::string, std::string> host_of_address;
  std::string job;
  std::optional<int32_t> attempt;
  std::vector<EndReport> ends;               // in the order of events
  bool success = false;                      // some log says that the work was completed, at its end
  bool steps_done = false;                   // every log with steps ends with the last of the run
  int64_t left_out = 0;                      // events outside the job, the attempt or the time window
  std::vector<std::string> window_doubts;    // what could not be judged about the latter, in sentences
};

Incident BuildIncident(const Catalogue& catalogue, const std::vector<SourceDigest>& sources,
                       const CorrelateOptions& options);

// "node7.cluster.example" -> "node7"; addresses stay whole, and "localhost" names nobody.
std::string ShortHost(std::string_view host);
// "1, 3, 5-7", "[0, 1]", "0 2": the numbers, at most 100,000.
std::vector<int32_t> ParseRankList(std::string_view text);
// Slurm's compact form: "node[01-03,07]" -> node01, node02, node03, node07.
std::vector<std::string> ExpandHostList(std::string_view text);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_INCIDENT_H_
