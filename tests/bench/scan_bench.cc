// scan_bench: our scanner against its peers and limits on one generated log, in one run.
//
// Usage: scan_bench [MIB] [clean|noisy|longline ...]   default: 256 clean noisy longline
// Rows:  memchr   counting newlines through read(2): the price of touching the bytes
//        vectorscan  one block-mode database of the same patterns over the same chunks, hits only counted
//        ours     lines with their signatures (FindLineHits)
//        source   the whole reader: lines, events, blocks, samples (SourceScanner)
//        re2::Set line by line
//        ripgrep  rg -j1 -c with the same patterns, where rg is installed
// Every row is the median of several rounds taken in turn, single-threaded.
#include <fcntl.h>
#include <hs/hs.h>
#include <re2/set.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "correlate/line_hits.h"
#include "correlate/source_scanner.h"
#include "tests/bench/generate.h"
#include "tests/bench/process.h"

namespace firstfault::bench {
namespace {

constexpr size_t kChunk = 128 << 10;

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Whole lines in chunks through read(2).
void ReadChunks(const std::string& path, const std::function<void(std::string_view)>& take) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) std::exit(66);
  std::string buffer;
  size_t have = 0;
  for (;;) {
    if (buffer.size() < have + kChunk) buffer.resize(have + kChunk);
    const ssize_t got = read(fd, buffer.data() + have, kChunk);
    if (got <= 0) break;
    have += static_cast<size_t>(got);
    const void* newline = memrchr(buffer.data(), '\n', have);
    if (newline == nullptr) continue;
    const size_t whole = static_cast<size_t>(static_cast<const char*>(newline) - buffer.data()) + 1;
    take(std::string_view(buffer).substr(0, whole));
    memmove(buffer.data(), buffer.data() + whole, have - whole);
    have -= whole;
  }
  if (have > 0) take(std::string_view(buffer).substr(0, have));
  close(fd);
}

template <typename F>
void EachLine(std::string_view text, F take) {
  while (!text.empty()) {
    const void* newline = memchr(text.data(), '\n', text.size());
    const size_t length = newline == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(newline) - text.data());
    take(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

// All patterns as one vectorscan database for this machine.
struct Automaton {
  explicit Automaton(const Catalogue& catalogue) {
    std::vector<const char*> expressions;
    std::vector<unsigned> flags, ids;
    for (const CompiledPattern& pattern : catalogue.patterns()) {
      expressions.push_back(pattern.regex().c_str());
      flags.push_back(HS_FLAG_SINGLEMATCH);
      ids.push_back(static_cast<unsigned>(ids.size()));
    }
    hs_compile_error_t* error = nullptr;
    if (hs_compile_multi(expressions.data(), flags.data(), ids.data(), static_cast<unsigned>(ids.size()), HS_MODE_BLOCK, nullptr,
                         &database, &error) != HS_SUCCESS ||
        hs_alloc_scratch(database, &scratch) != HS_SUCCESS) {
      std::fprintf(stderr, "vectorscan: %s\n", error != nullptr ? error->message : "no memory");
      std::exit(70);
    }
  }
  ~Automaton() {
    hs_free_scratch(scratch);
    hs_free_database(database);
  }
  hs_database_t* database = nullptr;
  hs_scratch_t* scratch = nullptr;
};

int Count(unsigned, unsigned long long, unsigned long long, unsigned, void* hits) {
  ++*static_cast<size_t*>(hits);
  return 0;
}

struct Row {
  const char* name;
  std::function<void()> run;
  int rounds;
  std::vector<double> seconds;
};

void Bench(Kind kind, const char* name, size_t mib) {
  const Engine& engine = BuiltInEngine();
  const std::string base = "/tmp/firstfault-scan-bench." + std::to_string(getpid());
  const std::string log = base + ".log", pattern_file = base + ".patterns";
  {
    const std::string text = GenerateLog(kind, mib << 20, 1, *BuiltInPages());
    std::ofstream(log, std::ios::binary) << text;
    WriteRipgrepPatterns(*engine.catalogue, pattern_file);
  }
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(int64_t{1} << 30);
  RE2::Set set(options, RE2::UNANCHORED);
  for (const CompiledPattern& pattern : engine.catalogue->patterns()) set.Add(pattern.regex(), nullptr);
  set.Compile();
  const Automaton automaton(*engine.catalogue);
  ScanBuffers buffers;
  size_t bytes = 0, lines = 0, hits = 0, hit_lines = 0, events = 0;
  bool ripgrep = true;
  std::vector<Row> rows;
  rows.push_back({"memchr", [&] {
                    bytes = lines = 0;
                    ReadChunks(log, [&](std::string_view chunk) {
                      bytes += chunk.size();
                      EachLine(chunk, [&](std::string_view) { ++lines; });
                    });
                  }, 5, {}});
  rows.push_back({"vectorscan", [&] {
                    ReadChunks(log, [&](std::string_view chunk) {
                      hs_scan(automaton.database, chunk.data(), static_cast<unsigned>(chunk.size()), 0, automaton.scratch, Count, &hits);
                    });
                  }, 5, {}});
  rows.push_back({"ours", [&] {
                    hit_lines = 0;
                    ReadChunks(log, [&](std::string_view chunk) {
                      hit_lines += FindLineHits(*engine.catalogue, *engine.patterns, buffers.hits, chunk).size();
                    });
                  }, 5, {}});
  rows.push_back({"source", [&] {
                    SourceScanner scanner(engine, buffers, {});
                    ReadChunks(log, [&](std::string_view chunk) { scanner.Feed(chunk); });
                    events = scanner.Finish().events.size();
                  }, 5, {}});
  rows.push_back({"re2::Set", [&] {
                    std::vector<int> matched;
                    ReadChunks(log, [&](std::string_view chunk) {
                      EachLine(chunk, [&](std::string_view line) { set.Match(re2::StringPiece(line.data(), line.size()), &matched); });
                    });
                  }, 1, {}});
  rows.push_back({"ripgrep", [&] { ripgrep = RunRipgrep(pattern_file, log).has_value() && ripgrep; }, 3, {}});
  for (int round = 0; round < 5; ++round) {
    for (Row& row : rows) {
      if (round < row.rounds) row.seconds.push_back(Seconds(row.run));
    }
  }
  std::printf("%s: %zu MiB, %zu lines, %zu lines with hits, %zu events, %zu patterns\n", name, bytes >> 20, lines, hit_lines, events,
              engine.catalogue->patterns().size());
  const auto rate = [&](Row& row) {
    std::sort(row.seconds.begin(), row.seconds.end());
    return static_cast<double>(bytes) / row.seconds[row.seconds.size() / 2] / 1e6;
  };
  const double ours = rate(rows[2]), limit = rate(rows[0]);
  for (Row& row : rows) {
    if (row.name == std::string("ripgrep") && !ripgrep) {
      std::printf("  %-11s not installed, or it refused the patterns\n", row.name);
      continue;
    }
    std::printf("  %-11s %8.1f MB/s   ours is %6.2f x\n", row.name, rate(row), ours / rate(row));
  }
  std::printf("  ours / memchr = %.3f\n", ours / limit);
  unlink(log.c_str());
  unlink(pattern_file.c_str());
}

}  // namespace
}  // namespace firstfault::bench

int main(int argc, char** argv) {
  using firstfault::bench::Kind;
  const size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  const std::pair<const char*, Kind> kinds[] = {{"clean", Kind::kClean}, {"noisy", Kind::kNoisy}, {"longline", Kind::kLongLine}};
  for (const auto& [name, kind] : kinds) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i) wanted |= std::string(argv[i]) == name;
    if (wanted) firstfault::bench::Bench(kind, name, mib);
  }
}
