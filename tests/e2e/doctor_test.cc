// `firstfault doctor`: each thing that can be wrong is found, with what to do about it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "correlate/text.h"
#include "tests/e2e/programs.h"

namespace firstfault::e2e {
namespace {

namespace fs = std::filesystem;

class DoctorTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (scratch_.path() / name).string(); }
  static Result Doctor(const std::string& flags) { return Shell(Cat("unset FIRSTFAULT_COORDINATOR FIRSTFAULT_TOKEN; ", FIRSTFAULT_BINARY, " doctor ", flags)); }

  const Scratch scratch_;
};

// The line begins like this, and the remedy stands under it.
void ExpectFinding(const Result& result, int code, const std::string& line, const std::string& remedy) {
  EXPECT_EQ(result.code, code) << result.out;
  const size_t at = result.out.find(line);
  ASSERT_NE(at, std::string::npos) << "'" << line << "' is not in:\n" << result.out;
  const size_t end = result.out.find('\n', at), next = result.out.find('\n', end + 1);
  if (remedy.empty()) return;
  EXPECT_NE(result.out.substr(end, next - end).find(Cat("-> ", remedy)), std::string::npos) << result.out;
}

TEST_F(DoctorTest, AGoodSetUpHasNothing) {
  std::ofstream(Path("a.log")) << "x\n";
  ASSERT_EQ(Doctor(Cat("--make-certs ", Path("certs"))).code, 0);
  const std::string certs = Path("certs");
  const Coordinator coordinator(Path("data"), 0, "", {"--tls-cert", certs + "/server.crt", "--tls-key", certs + "/server.key", "--tls-ca", certs + "/ca.crt"});
  const Result result = Doctor(Cat("--coordinator ", coordinator.address(), " --tls-cert ", certs, "/client.crt --tls-key ", certs, "/client.key --tls-ca ", certs,
                                   "/ca.crt --spool-dir ", Path("spool"), " --data-dir ", Path("data"), " --log '", Path("*.log"), "'"));
  ExpectFinding(result, 0, "ok    certificate  good for 7", "");
  ExpectFinding(result, 0, "ok    coordinator  127.0.0.1:", "");
  ExpectFinding(result, 0, "ok    coordinator  the clocks agree", "");
  ExpectFinding(result, 0, "    logs         ", "");
  EXPECT_EQ(result.out.find("FAIL"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(Path("spool"))) << "it looks, it does not make";
}

TEST_F(DoctorTest, WhatIsNotAskedIsSaid) { ExpectFinding(Doctor(""), 0, "-     coordinator  not checked: give --coordinator", ""); }

TEST_F(DoctorTest, EachFaultHasItsRemedy) {
  std::string address;
  {
    const Coordinator gone(Path("data"));
    address = gone.address();
  }
  ExpectFinding(Doctor(Cat("--coordinator ", address)), 69, "FAIL  coordinator  no answer", "is firstfault-coordinator running");
  ExpectFinding(Doctor("--coordinator 192.0.2.1:1"), 64, "FAIL  coordinator  --coordinator: 192.0.2.1:1 is beyond this machine", "");
  ExpectFinding(Doctor(Cat("--log '", Path("none*.log"), "'")), 66, "FAIL  logs", "is it quoted");
  ASSERT_EQ(Doctor(Cat("--make-certs ", Path("a"))).code, 0);
  ASSERT_EQ(Doctor(Cat("--make-certs ", Path("b"))).code, 0);
  const Coordinator coordinator(Path("data"), 0, "", {"--token-secret", Path("a/token.secret")});
  ExpectFinding(Doctor(Cat("--coordinator ", coordinator.address())), 77, "FAIL  coordinator  this coordinator asks for a token", "");
  ExpectFinding(Doctor(Cat("--tls-cert ", Path("a/client.crt"), " --tls-key ", Path("b/client.key"), " --tls-ca ", Path("a/ca.crt"))), 66,
                "FAIL  certificate  --tls-key is not the key of --tls-cert", "firstfault doctor --make-certs");
  ExpectFinding(Doctor(Cat("--tls-cert ", Path("a/client.crt"), " --tls-key ", Path("a/client.key"), " --tls-ca ", Path("b/ca.crt"))), 66,
                "FAIL  certificate  --tls-cert is not good with --tls-ca", "firstfault doctor --make-certs");
  fs::permissions(Path("a/client.key"), fs::perms::group_read, fs::perm_options::add);
  ExpectFinding(Doctor(Cat("--tls-cert ", Path("a/client.crt"), " --tls-key ", Path("a/client.key"), " --tls-ca ", Path("a/ca.crt"))), 0,
                Cat("warn  certificate  ", Path("a/client.key"), " can be read by others"), "chmod 600");
  ExpectFinding(Doctor("--spool-dir /proc/none"), 66, "FAIL  spool        /proc", "give /proc/none to the user");
  ExpectFinding(Shell(Cat("ulimit -n 100; ", FIRSTFAULT_BINARY, " doctor")), 0, "warn  open files   an agent may open 100 files only", "raise it");
}

TEST_F(DoctorTest, SaysWhenACertificateIsOld) {
  ASSERT_EQ(Doctor(Cat("--make-certs ", Path("a"))).code, 0);
  const Result made = Shell(Cat("cd ", Path("a"), " && openssl req -new -key client.key -subj /CN=me -out me.csr && openssl x509 -req -in me.csr -CA ca.crt -CAkey ca.key -days 11 -out me.crt"));
  ASSERT_EQ(made.code, 0) << made.out;
  ExpectFinding(Doctor(Cat("--tls-cert ", Path("a/me.crt"), " --tls-key ", Path("a/client.key"), " --tls-ca ", Path("a/ca.crt"))), 0,
                "warn  certificate  expires in 1", "move the old files away");
}

}  // namespace
}  // namespace firstfault::e2e
