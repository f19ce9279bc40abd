// firstfault diagnose: logs in, a report out.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress_lines.h"
#include "coordinator/cli/report_flags.h"
#include "coordinator/cli/time_argument.h"
#include "coordinator/load.h"
#include "coordinator/signature_folder.h"
#include "correlate/correlate.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

int64_t ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Flags {
  ReportFlags report;
  std::optional<std::string> job;
  std::optional<int32_t> attempt;
  std::string since, until, map, signatures;
  std::vector<std::string> timezones, paths;
};

// An unset variable of a script must not pass for an option that was not given.
CLI::Validator NotEmpty() {
  return {[](const std::string& value) { return std::string(value.empty() ? "has no value" : ""); }, ""};
}

void Declare(CLI::App* app, Flags* flags) {
  DeclareReportFlags(app, &flags->report);
  auto* job = app->add_option("--job", flags->job, "Only sources of this job")->type_name("ID");
  job->check(NotEmpty());
  app->add_option("--attempt", flags->attempt, "This attempt instead of the last one")
      ->type_name("N")
      ->check(CLI::Range(0, INT32_MAX));
  app->add_option("--since", flags->since,
                  "Leave out what is earlier: RFC 3339, or YYYY-MM-DD HH:MM[:SS] in UTC")
      ->type_name("T")
      ->check(NotEmpty());
  app->add_option("--until", flags->until, "Leave out what is later")->type_name("T")
      ->check(NotEmpty());
  app->add_option("--timezone", flags->timezones,
                  "Zone of a host's stamps: n01=Europe/Berlin, *=UTC (repeatable)")
      ->type_name("HOST=ZONE")
      ->allow_extra_args(false);
  app->add_option("--map", flags->map, "File of 'GLOB key=value...' lines: which file is whose")
      ->type_name("FILE")
      ->check(NotEmpty());
  app->add_option("--signatures", flags->signatures,
                  "Folder of *.txtpb files instead of the built-in catalogue")
      ->type_name("DIR")
      ->check(NotEmpty());
  app->add_option("PATH", flags->paths, "Files, folders, archives, or - for standard input")->required();
}

// Fills the options of the engine; a message says which flag is wrong.
std::optional<std::string> SetTimes(const Flags& flags, CorrelateOptions* out) {
  const std::tuple<const char*, const std::string*, std::optional<int64_t>*> kTimes[] = {
      {"--since", &flags.since, &out->since_ns}, {"--until", &flags.until, &out->until_ns}};
  for (const auto& [name, text, time] : kTimes) {
    if (text->empty()) continue;
    *time = ParseTimeArgument(*text);
    if (!*time) {
      return Cat(name, ": '", *text,
                 "' is no time; write 2026-01-02T03:04:05Z or '2026-01-02 03:04:05' (UTC)");
    }
  }
  if (out->since_ns && out->until_ns && *out->since_ns > *out->until_ns)
    return "--since is later than --until";
  return std::nullopt;
}

absl::StatusOr<LoadedSources> LoadWithProgress(const Engine& engine, const Flags& flags) {
  ProgressLines progress(isatty(STDERR_FILENO) != 0, ReadClock(CLOCK_MONOTONIC));
  const auto say = [](const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  LoadOptions load;
  load.map_file = flags.map;
  load.zones = flags.timezones;
  load.now_ns = ReadClock(CLOCK_REALTIME);
  load.progress = [&](int64_t sources, uint64_t bytes) {
    say(progress.Update(ReadClock(CLOCK_MONOTONIC), sources, bytes));
  };
  auto loaded = LoadSources(engine, flags.paths, load);
  say(progress.Done());
  return loaded;
}

// Why nothing is left, with what --job could have named.
std::string NothingOf(const Flags& flags, const std::vector<SourceDigest>& digests) {
  std::set<std::string> seen;
  for (const SourceDigest& digest : digests) {
    const std::string job = digest.info.job ? digest.info.job->value : "without a name";
    seen.insert(digest.info.attempt ? Cat("job ", job, ", attempt ", digest.info.attempt->value) : Cat("job ", job));
  }
  std::string message = "no log belongs to";
  if (flags.job) message += Cat(" job ", *flags.job);
  if (flags.attempt) message += Cat(flags.job ? ", attempt " : " attempt ", *flags.attempt);
  message += "; the logs are of";
  constexpr size_t kNamedMax = 5;
  size_t named = 0;
  for (const std::string& job : seen) {
    if (named++ < kNamedMax) message += Cat(named == 1 ? " " : "; ", job);
  }
  return message;
}

}  // namespace

int Diagnose(const std::vector<std::string>& arguments) {
  Flags flags;
  CLI::App app("Read the logs of a failed job and name what failed first.", "firstfault diagnose");
  Declare(&app, &flags);
  if (const auto code = ParseArguments(&app, arguments)) return *code;
  CorrelateOptions options;
  options.job = flags.job;
  options.attempt = flags.attempt;
  if (const auto wrong = SetTimes(flags, &options)) return Complain(*wrong, kExitUsage);

  std::optional<Engine> own;
  if (!flags.signatures.empty()) {
    auto loaded = LoadEngine(flags.signatures);
    if (!loaded.ok()) return Complain(loaded.status());
    own = *std::move(loaded);
  }
  const Engine& engine = own ? *own : BuiltInEngine();
  auto loaded = LoadWithProgress(engine, flags);
  if (!loaded.ok()) return Complain(loaded.status());
  options.input_problems = std::move(loaded->problems);
  options.broken_off = loaded->broken_off;
  const v1::Report report = Correlate(engine, loaded->digests, options);
  if ((flags.job || flags.attempt) && report.completeness().sources().empty()) {
    return Complain(NothingOf(flags, loaded->digests), kExitNoInput);
  }
  loaded->digests = std::vector<SourceDigest>();  // of thousands of sources; the rendered report is large as well
  return Print(Render(report, flags.report), ExitCodeOf(report));
}

}  // namespace firstfault
