#include "coordinator/kernel_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "correlate/text.h"

namespace firstfault {
namespace {

// dmesg, dmesg -x, dmesg -T, /dev/kmsg, /proc/kmsg, and any syslog form.
constexpr const char* kKernelLine =
    "^(?:\\[ *[0-9]+\\.[0-9]{6}\\](?:\\[ *[TC][0-9]+\\])? |[a-z]+ *:[a-z]+ *: \\[|[0-9]+,[0-9]+,[0-9]+,[-c+]|"
    "<[0-9]+>\\[ *[0-9]+\\.[0-9]{6}\\] |"
    "\\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} [0-9]{4}\\] "
    "(?:[a-z_0-9-]+(?: [0-9a-f:.]+)*|NVRM|Out of memory|Memory cgroup[^:]*): )|"
    "^(?:<[0-9]+>)?(?:[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[^ ]+) ([^ ]+) kernel: ";

// Enough to tell a kernel log from a job's log that quotes one.
constexpr int kLinesSampled = 16;

}  // namespace

void NameKernelLog(std::string_view head, SourceInfo* info) {
  static const RE2& kernel_line = *new RE2(kKernelLine);
  int lines = 0, kernel = 0;
  std::optional<std::string_view> host;
  bool hosts_agree = true;
  while (lines < kLinesSampled && !head.empty()) {
    const size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    if (Trim(line).empty() || line.starts_with(' ')) continue;  // " KEY=value" goes on from a kmsg record
    ++lines;
    re2::StringPiece printed;
    if (!RE2::PartialMatch(line.substr(0, 256), kernel_line, &printed)) continue;
    ++kernel;
    if (printed.empty()) continue;
    hosts_agree = hosts_agree && (!host || *host == std::string_view(printed));
    host = printed;
  }
  if (info->kind == SourceInfo::Kind::kUnknown && kernel * 2 > lines)
    info->kind = SourceInfo::Kind::kKernelLog;
  if (info->kind == SourceInfo::Kind::kKernelLog && !info->host && host && hosts_agree && *host != "-") {
    info->host = Known{std::string(*host), "content"};
  }
}

}  // namespace firstfault
