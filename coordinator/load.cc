#include "coordinator/load.h"

#include <optional>
#include <utility>

#include "coordinator/host_names.h"
#include "coordinator/map_file.h"
#include "coordinator/source_reader.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

class ScanningVisitor : public SourceVisitor {
 public:
  ScanningVisitor(const Engine& engine, const LoadOptions& options, std::vector<SourceDigest>* digests)
      : engine_(engine), options_(options), digests_(digests) {}

  void Begin(const SourceInfo& info) override { scanner_.emplace(engine_, buffers_, info); }
  void Bytes(std::string_view text) override {
    scanner_->Feed(text);
    bytes_ += text.size();
    if (options_.progress) options_.progress(static_cast<int64_t>(digests_->size()), bytes_);
  }
  void Hole(uint64_t bytes) override { scanner_->Skip(bytes, 0); }
  void End() override {
    digests_->push_back(scanner_->Finish());
    scanner_.reset();
  }

 private:
  const Engine& engine_;
  const LoadOptions& options_;
  ScanBuffers buffers_;
  std::optional<SourceScanner> scanner_;
  std::vector<SourceDigest>* digests_;
  uint64_t bytes_ = 0;
};

void AddProblems(const ReadSummary& summary, std::vector<std::string>* out) {
  *out = summary.problems;
  if (std::string binary = BinarySentence(summary); !binary.empty()) out->push_back(std::move(binary));
  if (summary.flight_recorder > 0) {
    out->push_back(Cat(summary.flight_recorder, " Flight Recorder dumps were found and not read."));
  }
}

}  // namespace

absl::StatusOr<LoadedSources> LoadSources(const Engine& engine, const std::vector<std::string>& paths,
                                          const LoadOptions& options) {
  std::optional<SourceMap> map;
  if (!options.map_file.empty()) {
    auto loaded = SourceMap::Load(options.map_file);
    if (!loaded.ok()) return loaded.status();
    map = std::move(*loaded);
  }
  const auto zones = ParseZoneRules(options.zones);
  if (!zones.ok()) return zones.status();
  LoadedSources out;
  ScanningVisitor visitor(engine, options, &out.digests);
  ReadOptions read;
  read.map = map ? &*map : nullptr;
  const auto summary = ReadSources(paths, read, &visitor);
  if (!summary.ok()) return summary.status();
  AddProblems(*summary, &out.problems);
  out.broken_off = summary->broken_off;

  std::vector<SourceInfo*> infos;
  for (SourceDigest& digest : out.digests) infos.push_back(&digest.info);
  NameHostsBySiblings(infos);
  for (SourceInfo* info : infos) ApplyZones(*zones, options.now_ns, info);
  const std::vector<const SourceInfo*> sources(infos.begin(), infos.end());
  for (const std::string& flag : UnusedZones(*zones, sources)) {
    out.problems.push_back(Cat("--timezone ", flag, " fits the host of none of the sources: check the name, or tell hosts with --map."));
  }
  if (map) {
    for (const std::string& line : map->UnusedLines(sources)) {
      out.problems.push_back(Cat(line, " fits none of the sources: check its name pattern."));
    }
  }
  return out;
}

}  // namespace firstfault
