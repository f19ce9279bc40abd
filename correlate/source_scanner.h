// source_scanner.h: bytes of one source in, one SourceDigest out.
//
// Why:     the only reader of log bytes, used offline on files and online on what agents ship. Gigabytes
//          of healthy lines must cost no more than one pass of the pattern set; only lines near a hit, at
//          the head and at the tail are parsed.
// Model:   Feed() in any cuts, then Finish(). The digest depends on the bytes alone, not on the cuts.
// Shapes:  memory is bounded by the limits below plus what the digest keeps.
// Errors:  nothing fails: long lines are cut, binary input is skipped, both counted.
// Threads: one thread; the catalogue and pattern set are shared.
#ifndef FIRSTFAULT_CORRELATE_SOURCE_SCANNER_H_
#define FIRSTFAULT_CORRELATE_SOURCE_SCANNER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/catalogue.h"
#include "correlate/event.h"
#include "correlate/pattern_set.h"

namespace firstfault {

// What the engine reads with: the rows, and the search for all their patterns.
struct Engine {
  std::shared_ptr<const Catalogue> catalogue;
  std::shared_ptr<const PatternSet> patterns;
};

// The engine compiled into this program. Its rows are without the examples and the page text that no diagnosis
// reads: unpacking them would take longer than reading a small log.
const Engine& BuiltInEngine();
// The same rows, in the same order, with all of their text.
const std::shared_ptr<const Catalogue>& BuiltInPages();

// Working memory of a scanner, kept by the caller so that thousands of small sources do not pay for it
// anew. One at a time.
struct ScanBuffers {
  std::string window;
  std::vector<PatternSet::Hit> hits;
};

// A line longer than this is cut: configuration and allocator dumps reach 1 MiB, nothing useful is longer.
inline constexpr size_t kLineBytesMax = 2 << 20;

class SourceScanner {
 public:
  // `engine` and `buffers` must outlive the scanner.
  SourceScanner(const Engine& engine, ScanBuffers& buffers, SourceInfo info);
  ~SourceScanner();
  SourceScanner(const SourceScanner&) = delete;
  SourceScanner& operator=(const SourceScanner&) = delete;

  // Bytes that follow the ones fed before. `bytes` is not kept.
  void Feed(std::string_view bytes);
  // A hole in the source (sparse file, lost data, lines that nobody sent): nothing joins across it, and the
  // numbers of the lines behind it count the line ends that it holds.
  void Skip(uint64_t bytes, uint64_t lines);
  // No more bytes. Call once.
  SourceDigest Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_SOURCE_SCANNER_H_
