// agent.h: the agent's loop without its sockets: logs into evidence into the spool.
//
// Model:   Poll() reads what is new of one job's logs and spools what is worth sending, together with where
//          reading stands. A source of an earlier run of the same job and attempt goes on where its last
//          durable record left it.
// Limits:  in `all` mode, and where the caller can wait, reading pauses while the spool is half full: the files
//          themselves are the better buffer. Else it goes on, and the spool drops.
// Threads: one thread; nothing waits; time is an argument.
#ifndef FIRSTFAULT_AGENT_AGENT_H_
#define FIRSTFAULT_AGENT_AGENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/evidence.h"
#include "agent/log_tail.h"
#include "agent/spool.h"
#include "agent/uplink.h"

namespace firstfault::agent {

// Tails of all sources after a fatal line, at most so often.
inline constexpr int64_t kTailsEveryNs = 10'000'000'000;

struct AgentOptions {
  std::string job;
  uint32_t attempt = 0;
  std::vector<std::string> globs;
  std::string root;  // where the host's files are mounted, without a slash at its end; reported without it
  Ship ship = Ship::kMatches;
  bool patient = false;  // reading may wait for the coordinator
};

class Agent : private TailSink {
 public:
  // `engine` and `spool` must outlive it.
  Agent(const Engine& engine, AgentOptions options, Spool& spool);

  // True: more is waiting to be read.
  bool Poll(Moment now);
  // The next Poll looks for new files, whenever it last did.
  void LookForFiles() { tail_.LookForFiles(); }
  // Spools the last lines of all sources.
  void Tails(Moment now);
  // Spools tails and ends: no Poll comes behind it.
  void Close(Moment now, std::string_view reason);
  uint64_t failed_commits() const { return failed_commits_; }
  const TailStats& tail_stats() const { return tail_.stats(); }

 private:
  void Opened(uint32_t source, const std::string& path, bool shared) override;
  void Bytes(uint32_t source, uint64_t offset, std::string_view bytes) override;
  void FileEnded(uint32_t source) override;

  void Resume();
  void Announce(uint32_t source, const std::string& path, bool shared);
  void Add(v1::Record record);
  void AddAll();
  void Commit();
  v1::SpoolState State() const;

  const Engine& engine_;
  const AgentOptions options_;
  Spool& spool_;
  LogTail tail_;
  std::vector<PatternSet::Hit> hits_;
  std::map<uint32_t, Evidence> sources_;
  std::vector<v1::Record> records_;  // working memory
  Moment now_;
  int64_t next_tails_ns_ = INT64_MIN;
  bool announced_ = false;  // the job
  bool fatal_ = false;
  uint64_t failed_commits_ = 0;
};

}  // namespace firstfault::agent

#endif  // FIRSTFAULT_AGENT_AGENT_H_
