// The program as scripts see it: exit codes, standard output and standard error of the real binary.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "coordinator/report_words.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

struct Result {
  int code = -1;
  std::string out;
};

// Standard error is part of `out` unless the command redirects it.
Result Shell(const std::string& command) {
  Result result;
  FILE* pipe = popen(Cat("{ ", command, "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
    result.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

// `arguments` as a shell reads them.
Result Firstfault(const std::string& arguments) { return Shell(Cat(FIRSTFAULT_BINARY, " ", arguments)); }

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = Cat(testing::TempDir(), "firstfault_cli_XXXXXX");
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A path in the folder, with this content.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  std::filesystem::path folder_;
};

std::string Gzip(const std::string& path) {
  EXPECT_EQ(std::system(Cat("gzip -k ", path).c_str()), 0);
  return Cat(path, ".gz");
}

constexpr char kOom[] =
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 1 has a total "
    "capacity of "
    "79.11 GiB of which 1.87 GiB is free. Including non-PyTorch memory, this process has 71.20 GiB memory in "
    "use.\n";

TEST_F(CommandLine, WrongUseIs64AndSaysWhatWasMeant) {
  const std::string log = Write("rank0.log", "step 1\n");
  struct Row {
    std::string arguments, message;
  };
  const Row rows[] = {
      {"", "no command"},
      {"diagnos x", "did you mean diagnose?"},
      {"watch", "unknown command 'watch'"},  // not built yet, hence unknown
      {"diagnose", "PATH is required"},
      {"why --coordinator ''", "no coordinator"},
      {"why --coordinator 127.0.0.1:1 --wait forever", "--wait"},
      {Cat("diagnose --jsn ", log), "did you mean --json?"},
      {Cat("diagnose --html x ", log), "unknown argument '--html'"},
      {Cat("diagnose --json --one-line ", log), "excludes"},
      {Cat("diagnose --attempt -1 ", log), "not in range 0"},
      {Cat("diagnose --since yesterday ", log), "--since: 'yesterday' is no time"},
      {Cat("diagnose --since '2026-01-02 00:00' --until '2026-01-01 00:00' ", log),
       "--since is later than --until"},
      {Cat("diagnose --timezone n01 ", log), "HOST=ZONE"},
      {"signatures oom.torh", "did you mean oom.torch"},
      {"version now", "unknown argument 'now'"},
  };
  for (const Row& row : rows) {
    const Result result = Firstfault(row.arguments);
    EXPECT_EQ(result.code, 64) << row.arguments;
    EXPECT_NE(result.out.find(row.message), std::string::npos) << row.arguments << "\n" << result.out;
  }
}

TEST_F(CommandLine, NothingToReadIs66) {
  EXPECT_EQ(Firstfault(Cat("diagnose ", folder_.string(), "/missing")).code, 66);
  EXPECT_EQ(Firstfault(Cat("diagnose ", folder_.string())).code, 66);
  EXPECT_EQ(Firstfault(Cat("diagnose ", Write("empty.log", ""))).code, 66);
  const std::string log = Write("rank0.log", "step 1\n");
  EXPECT_EQ(Firstfault(Cat("diagnose --map ", folder_.string(), "/missing ", log)).code, 66);
  EXPECT_EQ(Firstfault(Cat("diagnose --signatures ", folder_.string(), " ", log)).code, 66);
}

TEST_F(CommandLine, ABadRowIs64AndSaysWhere) {
  const std::string log = Write("rank0.log", "step 1\n");
  Write("rows/rows.txtpb", "signature {\n  idd: \"x\"\n}\n");
  const Result result = Firstfault(Cat("diagnose --signatures ", folder_.string(), "/rows ", log));
  EXPECT_EQ(result.code, 64);
  EXPECT_NE(result.out.find("rows.txtpb:2:"), std::string::npos) << result.out;
}

TEST_F(CommandLine, HelpAndVersionAreNoErrors) {
  for (const char* arguments :
       {"--help", "help", "-h", "version", "--version", "diagnose --help", "signatures --help"}) {
    EXPECT_EQ(Firstfault(Cat(arguments, " 2>/dev/null")).code, 0) << arguments;
    EXPECT_FALSE(Firstfault(Cat(arguments, " 2>/dev/null")).out.empty()) << arguments;
  }
}

TEST_F(CommandLine, HealthyLogsExitWithZero) {
  const std::string log = Write("rank0.log", "step 1 loss 2.0\nstep 2 loss 1.9\ntraining done\n");
  const Result result = Firstfault(Cat("diagnose --one-line ", log));
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(result.out.starts_with("no failure found")) << result.out;
}

TEST_F(CommandLine, AFaultExitsWithItsClassInEveryForm) {
  Write("logs/rank0.log", "[rank0]: step 1\n");
  Write("logs/rank1.log", kOom);
  for (const char* form : {"", "--json", "--markdown", "--one-line", "--explain --full"}) {
    const Result result = Firstfault(Cat("diagnose ", form, " ", folder_.string(), "/logs"));
    EXPECT_EQ(result.code, 10) << form << "\n" << result.out;
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << form;  // a pipe gets no colours
  }
  EXPECT_TRUE(Firstfault(Cat("diagnose ", folder_.string(), "/logs"))
                  .out.starts_with("rank 1 (GPU 1) failed first: "));
}

TEST_F(CommandLine, JsonIsAReportWithWordsOfTheContract) {
  Write("logs/rank1.log", kOom);
  const Result result = Firstfault(Cat("diagnose --json ", folder_.string(), "/logs 2>/dev/null"));
  v1::Report report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  EXPECT_EQ(report.schema_version(), 1);
  EXPECT_EQ(UnknownWords(report), std::vector<std::string>{});
}

TEST_F(CommandLine, StandardInputIsASource) {
  const std::string log = Write("rank1.log", kOom);
  EXPECT_EQ(Firstfault(Cat("diagnose --one-line - < ", log)).code, 10);
}

TEST_F(CommandLine, ATimezoneDoesNotSwallowThePath) {
  const std::string log = Write("rank1.log", kOom);
  EXPECT_EQ(Firstfault(Cat("diagnose --one-line --timezone '*=UTC' --timezone n01=+01:00 ", log)).code, 10);
}

TEST_F(CommandLine, AnUnusedMapLineIsSaid) {
  const std::string log = Write("rank1.log", kOom);
  const std::string map = Write("hosts.map", "nothing* host=n01\nrank1.log host=n07\n");
  const std::string out = Firstfault(Cat("diagnose --map ", map, " ", log)).out;
  EXPECT_NE(out.find("hosts.map:1 fits none of the sources"), std::string::npos) << out;
  EXPECT_TRUE(out.starts_with("rank 1 on node n07 (GPU 1) failed first: ")) << out;
}

TEST_F(CommandLine, OwnSignaturesReplaceTheBuiltInOnes) {
  const std::string log = Write("rank1.log", "[rank1]: the flux capacitor is empty\n");
  Write("rows/rows.txtpb", R"(signature {
    id: "own.flux" producer: "lab" title: "flux capacitor empty" class: "hardware" role: "initiating" severity: "fatal"
    pattern { regex: "flux capacitor is empty" } quick_answer: "Refill it."
  })");
  const std::string flag = Cat(" --signatures ", folder_.string(), "/rows ");
  EXPECT_EQ(Firstfault(Cat("diagnose --one-line ", log)).code, 0);
  const Result result = Firstfault(Cat("diagnose --one-line", flag, log));
  EXPECT_EQ(result.code, 13) << result.out;
  EXPECT_NE(result.out.find("flux capacitor empty [hardware, own.flux]"), std::string::npos) << result.out;
  EXPECT_EQ(Firstfault(Cat("signatures", flag)).out,
            "own.flux  hardware  initiating  flux capacitor empty\n");
  EXPECT_EQ(Firstfault(Cat("signatures own.flux", flag)).code, 0);
}

TEST_F(CommandLine, ALogWithoutItsEndIsNoCleanResult) {
  const std::string gz = Gzip(Write("rank0.log", "step 1 loss 2.5\nstep 2 loss 2.4\n"));
  EXPECT_EQ(Firstfault(Cat("diagnose ", gz)).code, 0);
  std::filesystem::resize_file(gz, std::filesystem::file_size(gz) - 3);
  const Result cut = Firstfault(Cat("diagnose --one-line ", gz));
  EXPECT_EQ(cut.code, 20);
  EXPECT_NE(cut.out.find("undetermined: no line says that the job failed, but 1 log could not be read to the end"), std::string::npos) << cut.out;
  EXPECT_NE(Firstfault(Cat("diagnose ", gz)).out.find("rank0.log.gz is damaged and was read up to the damage"), std::string::npos);
}

TEST_F(CommandLine, AnExceptionWithoutItsTracebackIsNoCleanResult) {
  const std::string log = Write("job.log", "[rank0]: step 1\n[rank1]: step 1\n[rank1]: RuntimeError: boom\n");
  const Result result = Firstfault(Cat("diagnose --one-line ", log));
  EXPECT_EQ(result.code, 20);
  EXPECT_NE(result.out.find("suspects: rank 1"), std::string::npos) << result.out;
}

TEST_F(CommandLine, RulesThatFitNothingAreInTheReport) {
  const std::string log = Write("rank0.log", kOom), map = Write("hosts.map", "rank0.log rank=0\nrank7.log rank=7\n");
  const Result result = Firstfault(Cat("diagnose --map ", map, " --timezone n09=UTC ", log));
  EXPECT_NE(result.out.find("hosts.map:2 fits none of the sources"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("--timezone n09=UTC fits the host of none of the"), std::string::npos) << result.out;
}

TEST_F(CommandLine, AReportThatCannotBeWrittenIs70AndSaysSo) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string log = Write("rank0.log", kOom);
  for (const char* output : {"> /dev/full", ">&-"}) {
    for (const std::string& command : {Cat("diagnose ", log), Cat("diagnose --json ", log), std::string("signatures"), std::string("--help")}) {
      const Result result = Shell(Cat("{ ", FIRSTFAULT_BINARY, " ", command, " 2>&3 ", output, "; } 3>&1"));
      EXPECT_EQ(result.code, 70) << command;
      EXPECT_NE(result.out.find("firstfault: cannot write to standard output: "), std::string::npos) << command << result.out;
    }
  }
}

#ifndef FIRSTFAULT_SANITIZED
TEST_F(CommandLine, WithoutMemoryItIs70AndSaysSo) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += Cat("[rank", i, "]: RuntimeError: boom ", i, "\n");
  const std::string log = Write("job.log", text);
  bool short_of_memory = false;
  // From too little to load its libraries to enough.
  for (int kibibytes = 48'000; kibibytes <= 120'000; kibibytes += 6'000) {
    const Result result = Shell(Cat("ulimit -v ", kibibytes, "; exec ", FIRSTFAULT_BINARY, " diagnose --one-line ", log));
    const bool told = result.out.find("firstfault: out of memory: allow it more") != std::string::npos;
    EXPECT_TRUE(result.code == 127 || result.code == 20 || (result.code == 70 && told)) << result.code << result.out;
    short_of_memory |= told;
  }
  EXPECT_TRUE(short_of_memory);
}
#endif

}  // namespace
}  // namespace firstfault
