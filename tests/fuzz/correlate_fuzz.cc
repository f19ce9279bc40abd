// Several small sources of any content: a report of known words that every renderer can show, the same in
// whatever order the sources come.
//
// Input: a line of option letters, then sources, each behind a line "=== PATH".
//   a, b  attempt 0, attempt 1     j  job "7"     s, u  since, until a fixed time
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/cli/exit_codes.h"
#include "coordinator/content_kind.h"
#include "coordinator/host_names.h"
#include "coordinator/render.h"
#include "coordinator/report_words.h"
#include "coordinator/source_names.h"
#include "correlate/check.h"
#include "correlate/correlate.h"
#include "correlate/utf8.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using firstfault::SourceDigest;

constexpr size_t kSourcesMax = 24;
constexpr std::string_view kMark = "=== ";
constexpr int64_t kSinceNs = 1'767'232'800'000'000'000;  // 2026-01-01 02:00 UTC
constexpr int64_t kHourNs = 3'600'000'000'000;

firstfault::CorrelateOptions OptionsOf(std::string_view letters) {
  firstfault::CorrelateOptions out;
  const auto has = [&](char letter) { return letters.find(letter) != std::string_view::npos; };
  if (has('a')) out.attempt = 0;
  if (has('b')) out.attempt = 1;
  if (has('j')) out.job = "7";
  if (has('s')) out.since_ns = kSinceNs;
  if (has('u')) out.until_ns = kSinceNs + kHourNs;
  out.input_problems.push_back("1 file is not text and was not read.");
  return out;
}

SourceDigest Scanned(std::string_view path, std::string_view bytes) {
  static auto* const buffers = new firstfault::ScanBuffers;
  firstfault::SourceScanner scanner(
      firstfault::BuiltInEngine(), *buffers,
      firstfault::NameSource(std::string(path), bytes.substr(0, firstfault::kHeadBytes)));
  scanner.Feed(bytes);
  return scanner.Finish();
}

std::vector<SourceDigest> Sources(std::string_view text) {
  std::vector<SourceDigest> out;
  while (!text.empty() && out.size() < kSourcesMax) {
    const std::string_view path = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(path.size() + 1, text.size()));
    const size_t next = text.find("\n=== ");
    const bool again = std::any_of(out.begin(), out.end(), [&](const SourceDigest& digest) { return digest.info.path == path; });
    if (!again) out.push_back(Scanned(path, text.substr(0, next)));  // readers never name two sources alike
    if (next == std::string_view::npos) break;
    text.remove_prefix(next + 1 + kMark.size());
  }
  std::vector<firstfault::SourceInfo*> infos;
  for (SourceDigest& digest : out) infos.push_back(&digest.info);
  firstfault::NameHostsBySiblings(infos);
  return out;
}

void CheckShown(const std::string& text) {
  bool lossy = false;
  firstfault::ToUtf8(text, &lossy);
  FF_CHECK(!lossy);
  FF_CHECK(text.ends_with('\n'));
  FF_CHECK(text.find('\0') == std::string::npos && text.find('\r') == std::string::npos);
}

void CheckRenderers(const firstfault::v1::Report& report) {
  firstfault::RenderOptions options;
  CheckShown(firstfault::RenderText(report, options));
  FF_CHECK(firstfault::RenderText(report, options).find('\x1b') == std::string::npos);
  options.full = options.explain = options.colour = true;
  options.columns = 40;
  CheckShown(firstfault::RenderText(report, options));
  CheckShown(firstfault::RenderMarkdown(report, options));
  CheckShown(firstfault::RenderOneLine(report));
  CheckShown(firstfault::RenderJson(report));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = firstfault::fuzz::Text(data, size);
  const size_t first = text.find(kMark);
  if (first == std::string_view::npos) return 0;
  const firstfault::CorrelateOptions options = OptionsOf(text.substr(0, first));
  std::vector<SourceDigest> sources = Sources(text.substr(first + kMark.size()));
  const firstfault::v1::Report report = firstfault::Correlate(firstfault::BuiltInEngine(), sources, options);
  FF_CHECK(firstfault::UnknownWords(report).empty());
  FF_CHECK(report.confidence() >= 0 && report.confidence() <= 1);
  FF_CHECK((report.verdict() == "no_failure") == (report.class_() == "none"));
  FF_CHECK(firstfault::ExitCodeOf(report) != firstfault::kExitBug);
  CheckRenderers(report);
  std::reverse(sources.begin(), sources.end());
  const firstfault::v1::Report again = firstfault::Correlate(firstfault::BuiltInEngine(), sources, options);
  FF_CHECK(report.SerializeAsString() == again.SerializeAsString());
  return 0;
}
