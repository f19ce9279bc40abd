#include "correlate/line_hits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "correlate/parse/line.h"

namespace firstfault {
namespace {

void AddCandidates(const PatternSet& set, const PatternSet::Hit& hit, LineHit* line) {
  std::vector<uint32_t>& ids = line->patterns;
  for (uint32_t pattern : set.PatternsOf(hit)) {
    if (std::find(ids.begin(), ids.end(), pattern) == ids.end()) ids.push_back(pattern);
  }
}

void KeepConfirmed(const Catalogue& catalogue, std::string_view text, LineHit* line) {
  std::erase_if(line->patterns, [&](uint32_t pattern) {
    return !catalogue.patterns()[pattern].re().Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                                                     RE2::UNANCHORED, nullptr, 0);
  });
}

// Offset of the next byte from `from` on that makes a line need cleaning; the chunk's size if none.
size_t NextMark(std::string_view chunk, char mark, size_t from) {
  for (;;) {
    from = chunk.find(mark, from);
    if (from == std::string_view::npos) return chunk.size();
    const bool line_end = mark == '\r' && (from + 1 == chunk.size() || chunk[from + 1] == '\n');
    if (!line_end) return from;
    ++from;
  }
}

// The lines that need cleaning, scanned anew; those without a hit have no patterns.
std::vector<LineHit> RescanDirtyLines(const Catalogue& catalogue, const PatternSet& patterns, std::vector<PatternSet::Hit>& hits,
                                      std::string_view chunk) {
  constexpr std::string_view kMarks("\x1b\r\0", 3);
  std::array<size_t, kMarks.size()> next{};
  for (size_t i = 0; i < kMarks.size(); ++i) next[i] = NextMark(chunk, kMarks[i], 0);
  std::vector<LineHit> out;
  for (;;) {
    const size_t dirty = *std::min_element(next.begin(), next.end());
    if (dirty == chunk.size()) return out;
    const size_t before = chunk.rfind('\n', dirty);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const size_t end = std::min(chunk.find('\n', dirty), chunk.size());
    const std::string clean = CleanLine(chunk.substr(begin, end - begin));
    hits.clear();
    if (!clean.empty()) patterns.Scan(clean, &hits);
    LineHit& line = out.emplace_back(LineHit{begin, end, {}});
    for (const PatternSet::Hit& hit : hits) AddCandidates(patterns, hit, &line);
    KeepConfirmed(catalogue, clean, &line);
    for (size_t i = 0; i < kMarks.size(); ++i) {
      if (next[i] < end) next[i] = NextMark(chunk, kMarks[i], end);
    }
  }
}

}  // namespace

std::vector<LineHit> FindLineHits(const Catalogue& catalogue, const PatternSet& patterns, std::vector<PatternSet::Hit>& hits,
                                  std::string_view chunk) {
  hits.clear();
  patterns.Scan(chunk, &hits);
  std::vector<LineHit> lines;
  for (const PatternSet::Hit& hit : hits) {
    const uint64_t last = hit.end - 1;  // an anchor holds no newline: this byte is in its line
    if (lines.empty() || last >= lines.back().end) {
      const void* before = memrchr(chunk.data(), '\n', last);
      const size_t begin = before == nullptr ? 0 : static_cast<size_t>(static_cast<const char*>(before) - chunk.data()) + 1;
      const void* behind = memchr(chunk.data() + last, '\n', chunk.size() - last);
      const size_t end = behind == nullptr ? chunk.size() : static_cast<size_t>(static_cast<const char*>(behind) - chunk.data());
      lines.push_back({begin, end, {}});
    }
    AddCandidates(patterns, hit, &lines.back());
  }
  for (LineHit& line : lines) KeepConfirmed(catalogue, chunk.substr(line.begin, line.end - line.begin), &line);
  std::vector<LineHit> rescanned = RescanDirtyLines(catalogue, patterns, hits, chunk);
  const auto by_begin = [](const LineHit& a, const LineHit& b) { return a.begin < b.begin; };
  std::erase_if(lines, [&](const LineHit& line) {
    return std::binary_search(rescanned.begin(), rescanned.end(), line, by_begin);
  });
  for (LineHit& line : rescanned) lines.push_back(std::move(line));
  std::erase_if(lines, [](const LineHit& line) { return line.patterns.empty(); });
  std::sort(lines.begin(), lines.end(), by_begin);
  return lines;
}

}  // namespace firstfault
