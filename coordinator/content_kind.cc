#include "coordinator/content_kind.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "coordinator/compressed_stream.h"
#include "coordinator/utf16_stream.h"

namespace firstfault {
namespace {

using std::string_view_literals::operator""sv;

struct MagicRow {
  size_t offset;
  std::string_view bytes;
  ContentKind kind;
};

constexpr MagicRow kMagic[] = {
    {257, "ustar"sv, ContentKind::kTar},                          // POSIX and GNU tar
    {0, "PK\x03\x04"sv, ContentKind::kZip},                       //
    {0, "PK\x05\x06"sv, ContentKind::kZip},                       // empty zip
    {0,
     "\x7f"
     "ELF"sv,
     ContentKind::kBinary},                             // programs, libraries, core files
    {0, "\x89PNG\r\n"sv, ContentKind::kBinary},         //
    {0, "\xff\xd8\xff"sv, ContentKind::kBinary},        // JPEG
    {0, "GIF8"sv, ContentKind::kBinary},                //
    {0, "%PDF-"sv, ContentKind::kBinary},               //
    {0, "\x80\x02"sv, ContentKind::kBinary},            // pickle, protocols 2 to 5
    {0, "\x80\x03"sv, ContentKind::kBinary},            //
    {0, "\x80\x04"sv, ContentKind::kBinary},            //
    {0, "\x80\x05"sv, ContentKind::kBinary},            //
    {0, "\x93NUMPY"sv, ContentKind::kBinary},           // .npy
    {0, "\x89HDF\r\n"sv, ContentKind::kBinary},         // HDF5
    {0, "SQLite format 3\0"sv, ContentKind::kBinary},   //
    {0, "PAR1"sv, ContentKind::kBinary},                // Parquet
    {0, "ARROW1"sv, ContentKind::kBinary},              //
    {0, "GGUF"sv, ContentKind::kBinary},                //
    {0, "7z\xbc\xaf\x27\x1c"sv, ContentKind::kBinary},  // 7-Zip
    {0, "!<arch>\n"sv, ContentKind::kBinary},           // static libraries
    {0, "\xff\xfe\0\0"sv, ContentKind::kBinary},        // UTF-32
    {0, ":W&B"sv, ContentKind::kBinary},                // wandb run file
    {0, "LPKSHHRH"sv, ContentKind::kBinary},            // systemd journal file
};

// Runs of NULs at least this long are holes; integer arrays have shorter ones.
constexpr size_t kHoleRunMin = 64;
// Text has hardly any control bytes beside line ends, tabs and colours; compressed or random bytes have
// over a tenth.
constexpr size_t kControlShareMax = 20;  // at most one byte in this many

bool IsControl(char c) {
  // Without branches: it is asked of every byte of a head.
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20) & (byte != '\t') & (byte != '\n') & (byte != '\r') & (byte != '\f') & (byte != '\b') &
         (byte != 0x1b);
}

// Bytes of `head` that lie in long runs of NULs.
size_t HoleBytes(std::string_view head) {
  size_t bytes = 0;
  for (size_t at = head.find('\0'); at != std::string_view::npos; at = head.find('\0', at)) {
    const size_t end = std::min(head.find_first_not_of('\0', at), head.size());
    if (end - at >= kHoleRunMin) bytes += end - at;
    at = end;
  }
  return bytes;
}

}  // namespace

ContentKind ContentKindOf(std::string_view head) {
  for (const MagicRow& row : kMagic) {
    if (head.size() >= row.offset && head.substr(row.offset).starts_with(row.bytes)) return row.kind;
  }
  if (IsCompressed(head)) return ContentKind::kCompressed;
  if (BeginsAsUtf16(head)) return ContentKind::kUtf16;
  const size_t holes = HoleBytes(head);
  const auto controls = static_cast<size_t>(std::count_if(head.begin(), head.end(), IsControl)) - holes;
  return controls * kControlShareMax > head.size() - holes ? ContentKind::kBinary : ContentKind::kText;
}

bool IsVerdictDocument(std::string_view head) {
  // What only a verdict's JSON has as keys, and no log line of one object.
  constexpr std::string_view kKeys[] = {"\"initiator\"", "\"first_warning\"", "\"class\""};
  // First lines of report_phrases.cc, and the footer.
  constexpr std::string_view kHeadlines[] = {" failed first: ", "all ranks failed alike: ", "first fault, on a rank that ", "ended from outside: ",
                                             "undetermined: ", "no failure found"};
  constexpr std::string_view kFooter = "; firstfault ";
  const auto has = [](std::string_view text) { return [text](std::string_view part) { return text.find(part) != std::string_view::npos; }; };
  const size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  head.remove_prefix(start);
  if (head.front() == '{') return std::all_of(std::begin(kKeys), std::end(kKeys), has(head));
  const std::string_view first = head.substr(0, head.find('\n'));
  const size_t footer = head.rfind(kFooter);
  return std::any_of(std::begin(kHeadlines), std::end(kHeadlines), has(first)) && footer != std::string_view::npos &&
         head.find('\n', head.find('\n', footer) + 1) == std::string_view::npos;
}

bool IsCheckpointMember(std::string_view member_name) { return member_name.ends_with("/data.pkl"); }

}  // namespace firstfault
