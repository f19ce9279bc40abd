// House rules as a test: which folder may include what, that nothing is left out of the build, and that every
// header says what it is for. Reads the source tree; needs no build of the code it judges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/catalogue_text.h"
#include "correlate/source_scanner.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = FIRSTFAULT_SOURCE_DIR;

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Paths relative to the root, sorted. A folder that does not exist (yet) has no files.
std::vector<std::string> FilesUnder(const std::string& folder, const std::set<std::string>& endings) {
  std::vector<std::string> out;
  if (!fs::exists(kRoot / folder)) return out;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (entry.is_regular_file() && endings.contains(entry.path().extension().string())) {
      out.push_back(fs::relative(entry.path(), kRoot).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> SourcesUnder(const std::string& folder) {
  return FilesUnder(folder, {".h", ".cc", ".c", ".proto"});
}

// What stands between the quotes or angle brackets of #include and import lines.
std::vector<std::string> IncludesOf(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with("#include") && !line.starts_with("import ")) continue;
    const size_t open = line.find_first_of("\"<");
    const size_t close = open == std::string_view::npos ? open : line.find_first_of("\">", open + 1);
    if (close != std::string_view::npos) out.emplace_back(line.substr(open + 1, close - open - 1));
  }
  return out;
}

bool StartsWithAny(std::string_view text, const std::vector<std::string_view>& starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
}

// --- folder X must not include Y -------------------------------------------------------------------------

struct FolderRule {
  std::string folder;
  std::vector<std::string_view> must_not;
};
const FolderRule kFolderRules[] = {
    {"proto", {"correlate/", "agent/", "coordinator/", "tests/"}},
    {"correlate", {"agent/", "coordinator/", "tests/"}},
    {"agent", {"coordinator/", "tests/"}},
    {"coordinator", {"agent/", "tests/"}},
};

TEST(Layering, NoFolderIncludesWhatStandsAboveIt) {
  for (const FolderRule& rule : kFolderRules) {
    for (const std::string& path : SourcesUnder(rule.folder)) {
      for (const std::string& include : IncludesOf(Read(kRoot / path))) {
        EXPECT_FALSE(StartsWithAny(include, rule.must_not)) << path << " must not include " << include;
        EXPECT_FALSE(include.starts_with("gtest/") || include.starts_with("gmock/")) << path << " includes " << include;
        EXPECT_FALSE(include.starts_with(".") || include.starts_with("/")) << path << ": write " << include << " from the root";
      }
    }
  }
}

// correlate is pure: what it may include is a list, and everything of the outside world is off it.
const std::vector<std::string_view> kCorrelateMayInclude = {
    "correlate/", "proto/", "absl/status/", "re2/", "hs/hs.h", "google/protobuf/",
};
const std::vector<std::string_view> kOutsideWorld = {
    "atomic",   "chrono",  "condition_variable", "csignal", "cstdio", "ctime", "filesystem", "fstream",
    "future",   "iostream", "istream", "ostream", "mutex",  "random", "semaphore", "shared_mutex",
    "stop_token", "thread",
};
const std::vector<std::string_view> kOutsideCalls = {
    "std::chrono", "std::thread", "getenv(", "clock_gettime", "gettimeofday", "fopen(", "std::ifstream",
    "std::ofstream", "std::cout", "std::cerr", "std::mt19937", "std::random_device", "rand()", "popen(", "system(",
};
struct Exception {
  std::string_view file, what, why;
};
const Exception kExceptions[] = {
    {"correlate/catalogue.h", "mutex", "std::once_flag: an expression is compiled when it is first needed"},
    {"correlate/check.h", "cstdio", "the last words before abort"},
    {"correlate/parse/stamp.cc", "cstdio", "snprintf: digits with leading zeros"},
    {"correlate/catalogue_compiler.cc", "cstdio", "a program of the build, not of the library"},
    {"correlate/catalogue_compiler.cc", "fstream", "a program of the build, not of the library"},
    {"correlate/catalogue_compiler.cc", "std::ifstream", "a program of the build, not of the library"},
    {"correlate/catalogue_compiler.cc", "std::ofstream", "a program of the build, not of the library"},
};

bool IsExcepted(std::string_view file, std::string_view what) {
  return std::any_of(std::begin(kExceptions), std::end(kExceptions),
                     [&](const Exception& row) { return row.file == file && row.what == what; });
}

TEST(Layering, CorrelateTouchesNothingOfTheOutsideWorld) {
  for (const std::string& path : SourcesUnder("correlate")) {
    const std::string text = Read(kRoot / path);
    for (const std::string& include : IncludesOf(text)) {
      const bool standard = include.find_first_of("./") == std::string::npos;
      const bool outside = std::find(kOutsideWorld.begin(), kOutsideWorld.end(), include) != kOutsideWorld.end();
      EXPECT_TRUE(standard || StartsWithAny(include, kCorrelateMayInclude)) << path << " must not include " << include;
      EXPECT_TRUE(!outside || IsExcepted(path, include)) << path << " must not include " << include;
    }
    for (const std::string_view call : kOutsideCalls) {
      EXPECT_TRUE(text.find(call) == std::string::npos || IsExcepted(path, call)) << path << " must not use " << call;
    }
  }
}

TEST(Layering, EveryExceptionIsStillNeeded) {
  for (const Exception& row : kExceptions) {
    EXPECT_NE(Read(kRoot / row.file).find(row.what), std::string::npos) << row.file << " no longer uses " << row.what;
  }
}

// --- nothing is left out of the build --------------------------------------------------------------------

std::string WithoutComments(const std::string& cmake) {
  std::string out;
  for (const std::string_view line : Split(cmake, '\n')) out += Cat(line.substr(0, line.find('#')), "\n");
  return out;
}

bool HasWord(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/' || c == '.'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

// By its path, or, where a function or loop makes the path of it, a test, fuzz target or bench by its name.
TEST(Build, ListsEverySourceFile) {
  const std::string cmake = WithoutComments(Read(kRoot / "CMakeLists.txt"));
  for (const char* folder : {"correlate", "agent", "coordinator", "tests"}) {
    for (const std::string& path : FilesUnder(folder, {".cc", ".c", ".S"})) {
      const bool by_name = path.starts_with("tests/") && HasWord(cmake, fs::path(path).stem().string());
      EXPECT_TRUE(by_name || HasWord(cmake, path)) << "CMakeLists.txt does not list " << path;
    }
  }
  for (const std::string& path : FilesUnder("proto", {".proto"})) {
    EXPECT_TRUE(HasWord(cmake, fs::path(path).stem().string())) << "CMakeLists.txt does not list " << path;
  }
}

TEST(Build, CompilesEverySignatureFileIn) {
  const Catalogue& catalogue = *BuiltInEngine().catalogue;
  size_t rows = 0;
  for (const std::string& path : FilesUnder("correlate/signatures", {".txtpb"})) {
    const auto file = ParseCatalogueText(path, Read(kRoot / path));
    ASSERT_TRUE(file.ok()) << file.status();
    rows += static_cast<size_t>(file->signature_size());
    for (const v1::Signature& row : file->signature()) {
      EXPECT_NE(catalogue.Find(row.id()), nullptr) << path << ": " << row.id() << " is not in the program";
    }
  }
  EXPECT_EQ(rows, catalogue.signatures().size()) << "the program has rows that no file has";
}

TEST(Build, EveryFuzzTargetHasACorpus) {
  std::set<std::string> targets, corpora;
  for (const std::string& path : FilesUnder("tests/fuzz", {".cc"})) {
    if (path.ends_with("_fuzz.cc")) targets.insert(fs::path(path).stem().string());
  }
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/fuzz/corpus")) {
    EXPECT_FALSE(fs::is_empty(entry.path())) << entry.path();
    corpora.insert(entry.path().filename().string());
  }
  EXPECT_EQ(targets, corpora);
}

// --- the tree --------------------------------------------------------------------------------------------

TEST(Tree, TopLevelIsWhatTheReadmeExplains) {
  const std::set<std::string> expected = {"CMakeLists.txt", "CMakePresets.json", "LICENSE",   "README.md", "agent",
                                          "coordinator",    "correlate",         "deploy",    "proto",     "tests"};
  std::set<std::string> seen = {"agent"};  // its folder comes with its first file
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && !name.starts_with("build")) seen.insert(name);
  }
  EXPECT_EQ(seen, expected);
}

std::string GuardOf(const std::string& path) {
  std::string guard = "FIRSTFAULT_";
  for (const char c : path) guard.push_back(std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::toupper(c)) : '_');
  return guard + "_";
}

TEST(Headers, OpenWithWhatTheyAreForAndAreGuardedByTheirPath) {
  for (const char* folder : {"correlate", "agent", "coordinator", "tests"}) {
    for (const std::string& path : FilesUnder(folder, {".h"})) {
      const std::string text = Read(kRoot / path), guard = GuardOf(path);
      const std::string opening = Cat("// ", fs::path(path).filename().string(), ": ");
      EXPECT_TRUE(text.starts_with(opening)) << path << " must open with '" << opening << "...'";
      EXPECT_NE(text.find(Cat("\n#ifndef ", guard, "\n#define ", guard, "\n")), std::string::npos) << path << ": guard " << guard;
      EXPECT_TRUE(text.ends_with(Cat("#endif  // ", guard, "\n"))) << path << " must end with its guard";
    }
  }
  for (const std::string& path : FilesUnder("proto", {".proto"})) {
    EXPECT_TRUE(Read(kRoot / path).starts_with(Cat("// ", fs::path(path).filename().string(), ": "))) << path;
  }
}

}  // namespace
}  // namespace firstfault
