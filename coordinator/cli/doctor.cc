// firstfault doctor: what is wrong with a set-up, and what to do about it.
#include <fcntl.h>
#include <glob.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "coordinator/access.h"
#include "coordinator/cli/arguments.h"
#include "coordinator/cli/certificates.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/coordinator_client.h"
#include "coordinator/cli/exit_codes.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/programs.h"
#include "coordinator/shown_text.h"
#include "correlate/text.h"
#include "correlate/version.h"

namespace firstfault {
namespace {

struct DoctorFlags {
  CoordinatorFlags coordinator;
  std::string certs_folder, token_scope, token_secret;
  std::vector<std::string> servers, hosts;
  std::string spool_folder, data_folder;
  std::vector<std::string> logs;
};

// --- checks ----------------------------------------------------------------------------------------------

namespace fs = std::filesystem;

constexpr int64_t kNsOfSecond = 1'000'000'000;
// Time enough to make new ones.
constexpr int64_t kExpiresSoonS = 30 * 86'400;
// The verdict does not rest on clocks that agree; people who read stamps of two hosts do.
constexpr int64_t kOffsetNs = kNsOfSecond;
// What an agent's spool may grow to; what a coordinator needs for a day of busy jobs.
constexpr uint64_t kSpoolRoomBytes = 256ULL << 20, kDataRoomBytes = 2ULL << 30;
// An agent holds one file a source: eight ranks with two streams each, over a few attempts, and what others left.
constexpr uint64_t kOpenFiles = 4096;

enum class Grade : uint8_t { kOk, kWarning, kFailure, kNotAsked };
constexpr WordTable<Grade, 4> kGradeWords = {{{Grade::kOk, "ok"}, {Grade::kWarning, "warn"}, {Grade::kFailure, "FAIL"}, {Grade::kNotAsked, "-"}}};

struct Finding {
  Grade grade = Grade::kOk;
  std::string what, remedy;
  int code = kExitOk;  // of the program, where it is a failure
};
using Findings = std::vector<Finding>;

Finding NotAsked(std::string_view flag) { return {Grade::kNotAsked, Cat("not checked: give ", flag), ""}; }
Finding Failure(int code, std::string what, std::string remedy) { return {Grade::kFailure, std::move(what), std::move(remedy), code}; }

int64_t WallNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * kNsOfSecond + now.tv_nsec;
}

Findings CheckCertificate(const DoctorFlags& flags) {
  const CredentialFiles& files = flags.coordinator.files;
  if (files.cert.empty()) return {NotAsked("--tls-cert, --tls-key and --tls-ca")};
  const auto credentials = LoadCredentials(files);
  if (!credentials.ok()) return {Failure(kExitNoInput, std::string(credentials.status().message()), "name three files that this user can read")};
  Findings out;
  const auto facts = InspectCertificate(credentials->cert, credentials->key, credentials->ca, WallNs() / kNsOfSecond);
  if (!facts.ok()) {
    out.push_back(Failure(kExitNoInput, std::string(facts.status().message()), "firstfault doctor --make-certs DIR makes certificates that belong together"));
  } else if (facts->seconds_left < kExpiresSoonS) {
    out.push_back({Grade::kWarning, Cat("expires in ", facts->seconds_left / 86'400, " days"), "move the old files away and run firstfault doctor --make-certs again"});
  } else {
    std::string names;
    for (const std::string& name : facts->names) names += Cat(names.empty() ? ", for " : ", ", name);
    out.push_back({Grade::kOk, Cat("good for ", facts->seconds_left / 86'400, " days", names), ""});
  }
  struct stat key {};
  if (stat(files.key.c_str(), &key) == 0 && (key.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    out.push_back({Grade::kWarning, Cat(files.key, " can be read by others"), Cat("chmod 600 ", files.key)});
  }
  return out;
}

Findings CheckCoordinator(const DoctorFlags& flags) {
  const auto peer = FindCoordinator(flags.coordinator);
  if (!peer.ok()) {
    if (flags.coordinator.address.empty()) return {NotAsked("--coordinator HOST:PORT")};
    return {Failure(kExitUsage, std::string(peer.status().message()), "")};
  }
  const int64_t asked_ns = WallNs();
  const auto reply = AskStatus(*peer);
  const int64_t answered_ns = WallNs();
  if (!reply.ok()) {
    const bool there = reply.status().code() != absl::StatusCode::kUnavailable;
    return {Failure(there ? kExitNoPermission : kExitUnavailable, std::string(reply.status().message()),
                    there ? "" : Cat("is firstfault-coordinator running there, and does a firewall let ", peer->address, " through?"))};
  }
  Findings out = {{Grade::kOk, Cat(peer->address, " answers and lets us in"), ""}};
  if (reply->version() != kVersion) {
    out.push_back({Grade::kWarning, Cat("it is version ", reply->version(), ", this is ", kVersion), "one release apart is fine; bring both to the same one when you can"});
  }
  // Its clock is ahead of ours by something between these two.
  const int64_t least_ns = reply->sent_ns() - answered_ns, most_ns = reply->received_ns() - asked_ns;
  const int64_t off_ns = least_ns > 0 ? least_ns : most_ns < 0 ? most_ns : 0;
  const std::string offset = Cat(Fixed(static_cast<double>(std::abs(off_ns)) / 1e9, 3), " s ", off_ns < 0 ? "behind" : "ahead of");
  if (std::abs(off_ns) >= kOffsetNs) {
    out.push_back({Grade::kWarning, Cat("its clock is ", offset, " ours"), "run chrony or ntpd on both; verdicts do not rest on it, stamps that you compare do"});
  } else {
    out.push_back({Grade::kOk, off_ns == 0 ? "the clocks agree" : Cat("its clock is ", offset, " ours"), ""});
  }
  return out;
}

// A file can be made there, or in what stands above it, and there is room.
Findings CheckFolder(const std::string& folder, uint64_t room_bytes, std::string_view flag, std::string_view whose) {
  if (folder.empty()) return {NotAsked(flag)};
  std::error_code error;
  fs::path there = fs::absolute(folder, error);
  while (!fs::exists(there, error) && there.has_parent_path() && there != there.parent_path()) there = there.parent_path();
  std::string probe = (there / ".firstfault-doctor-XXXXXX").string();
  const int fd = mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) {
    return {Failure(kExitNoInput, Cat(there.string(), ": ", std::strerror(errno)), Cat("give ", folder, " to the user that runs ", whose))};
  }
  close(fd);
  unlink(probe.c_str());
  struct statvfs facts {};
  const uint64_t free_bytes = statvfs(there.c_str(), &facts) == 0 ? uint64_t{facts.f_bavail} * facts.f_frsize : 0;
  const std::string free = Cat(free_bytes >> 20, " MiB free");
  if (free_bytes < room_bytes) {
    return {{Grade::kWarning, Cat(folder, ": ", free, ", ", room_bytes >> 20, " MiB are wanted"), "make room, or name a folder on another disk; what does not fit is counted as dropped"}};
  }
  return {{Grade::kOk, Cat(folder, ": can be written, ", free), ""}};
}

Findings CheckSpool(const DoctorFlags& flags) { return CheckFolder(flags.spool_folder, kSpoolRoomBytes, "--spool-dir DIR", "the agent"); }
Findings CheckData(const DoctorFlags& flags) { return CheckFolder(flags.data_folder, kDataRoomBytes, "--data-dir DIR", "the coordinator"); }

Findings CheckOpenFiles(const DoctorFlags&) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kOpenFiles) return {{Grade::kOk, Cat("an agent may open ", limit.rlim_max, " files"), ""}};
  return {{Grade::kWarning, Cat("an agent may open ", limit.rlim_max, " files only"), Cat("raise it: LimitNOFILE=", kOpenFiles, " in its unit, or ulimit -Hn ", kOpenFiles)}};
}

Findings CheckLogs(const DoctorFlags& flags) {
  if (flags.logs.empty()) return {NotAsked("--log GLOB")};
  Findings out;
  for (const std::string& pattern : flags.logs) {
    glob_t found{};
    size_t readable = 0;
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      readable = static_cast<size_t>(std::count_if(found.gl_pathv, found.gl_pathv + found.gl_pathc, [](const char* path) { return access(path, R_OK) == 0; }));
    }
    const size_t count = found.gl_pathc;
    globfree(&found);
    if (count == 0) {
      out.push_back(Failure(kExitNoInput, Cat(pattern, " matches nothing"), "is it quoted, so that not the shell but the agent reads it? A file that comes later is found then"));
    } else if (readable < count) {
      out.push_back(Failure(kExitNoInput, Cat(pattern, ": ", count - readable, " of ", count, " cannot be read"), "let the user that runs the agent read them (a group, or an ACL)"));
    } else {
      out.push_back({Grade::kOk, Cat(pattern, " matches ", Counted(static_cast<int64_t>(count), "file")), ""});
    }
  }
  return out;
}

struct Check {
  std::string_view name;
  Findings (*run)(const DoctorFlags& flags);
};
constexpr Check kChecks[] = {
    {"certificate", CheckCertificate}, {"coordinator", CheckCoordinator}, {"spool", CheckSpool},
    {"recordings", CheckData},         {"open files", CheckOpenFiles},    {"logs", CheckLogs},
};

// The exit code is that of the first failure.
int RunChecks(const DoctorFlags& flags) {
  constexpr size_t kNameColumns = 13, kGradeColumns = 6;
  const auto padded = [](std::string_view text, size_t columns) { return Cat(text, std::string(columns - text.size(), ' ')); };
  std::string out;
  int code = kExitOk;
  for (const Check& check : kChecks) {
    for (const Finding& finding : check.run(flags)) {
      out += Cat(padded(WordIn(kGradeWords, finding.grade), kGradeColumns), padded(check.name, kNameColumns), Printable(finding.what), "\n");
      if (!finding.remedy.empty()) out += Cat(std::string(kGradeColumns + kNameColumns, ' '), "-> ", Printable(finding.remedy), "\n");
      if (code == kExitOk) code = finding.code;
    }
  }
  return Print(out, code);
}

// --- certificates and tokens -----------------------------------------------------------------------------

int MakeCerts(const DoctorFlags& flags) {
  const auto made = MakeCertificates(flags.certs_folder, flags.servers.empty() ? std::vector{HostName()} : flags.servers,
                                     flags.hosts.empty() ? std::vector{HostName()} : flags.hosts);
  if (!made.ok()) return Complain(made.status());
  std::string out;
  for (const MadeFile& file : *made) out += Cat(file.kept ? "kept  " : "made  ", file.path, "\n");
  out += Cat("\nThe coordinator takes --tls-cert server.crt --tls-key server.key --tls-ca ca.crt --token-secret token.secret; an agent\n"
             "agent-HOST.crt and agent-HOST.key, people client.crt and client.key, with the same ca.crt. ca.key stays here.\n");
  return Print(out, kExitOk);
}

int MakeToken(const DoctorFlags& flags) {
  if (flags.token_secret.empty()) return Complain("--make-token needs --token-secret FILE, the coordinator's", kExitUsage);
  const auto secret = ReadCredentialFile(flags.token_secret);
  if (!secret.ok()) return Complain(secret.status());
  if (const auto access = Access::Of(*secret); !access.ok()) return Complain(access.status());
  const auto token = TokenFor(*secret, flags.token_scope);
  if (!token) return Complain(Cat("'", flags.token_scope, "' is no scope: job:ID, write or read"), kExitUsage);
  return Print(Cat(*token, "\n"), kExitOk);
}

}  // namespace

int Doctor(const std::vector<std::string>& arguments) {
  DoctorFlags flags;
  CLI::App app("Check a set-up and say what to do where something is wrong; make certificates and tokens.", "firstfault doctor");
  app.add_option("--make-certs", flags.certs_folder, "Make an authority and certificates here; what is there stays")->type_name("DIR");
  app.add_option("--server", flags.servers, "With --make-certs: a name of the coordinator (repeatable; this host)")->type_name("NAME")->allow_extra_args(false);
  app.add_option("--host", flags.hosts, "With --make-certs: a host that has an agent (repeatable; this host)")->type_name("NAME")->allow_extra_args(false);
  app.add_option("--make-token", flags.token_scope, "Print a token: for job:ID, for all agents (write), for all questions (read)")->type_name("SCOPE");
  app.add_option("--token-secret", flags.token_secret, "With --make-token: the coordinator's secret")->type_name("FILE");
  DeclareCoordinatorFlags(&app, &flags.coordinator);
  app.add_option("--spool-dir", flags.spool_folder, "Check that an agent can keep its spool here")->type_name("DIR");
  app.add_option("--data-dir", flags.data_folder, "Check that a coordinator can record here")->type_name("DIR");
  app.add_option("--log", flags.logs, "Check that this matches files that can be read (repeatable)")->type_name("GLOB")->allow_extra_args(false);
  if (const auto code = ParseArguments(&app, arguments)) return *code;
  if (!flags.certs_folder.empty()) return MakeCerts(flags);
  if (!flags.token_scope.empty()) return MakeToken(flags);
  return RunChecks(flags);
}

}  // namespace firstfault
