// TLS and tokens between the real programs: who is let in, who is not, and what each is told.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "correlate/text.h"
#include "tests/e2e/programs.h"

namespace firstfault::e2e {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class SecurityTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(MakeCerts("ours", "--host n01 --host n02").code, 0);
    ASSERT_EQ(MakeCerts("theirs", "--host n01").code, 0);
    std::ofstream(Path("oom.log")) << "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB.\n";
  }
  std::string Path(const std::string& name) const { return (scratch_.path() / name).string(); }
  Result MakeCerts(const std::string& folder, const std::string& more) const {
    return Shell(Cat(FIRSTFAULT_BINARY, " doctor --make-certs ", Path(folder), " --server localhost ", more));
  }
  std::vector<std::string> TlsWords(const std::string& folder, const std::string& name, const std::string& ca) const {
    return {"--tls-cert", Path(Cat(folder, "/", name, ".crt")), "--tls-key", Path(Cat(folder, "/", name, ".key")), "--tls-ca", Path(ca + "/ca.crt")};
  }
  std::string Tls(const std::string& folder, const std::string& name, const std::string& ca) const {
    std::string out;
    for (const std::string& word : TlsWords(folder, name, ca)) out += Cat(" ", word);
    return out;
  }
  std::string Token(const std::string& scope, const std::string& folder = "ours") const {
    const std::string token = Shell(Cat(FIRSTFAULT_BINARY, " doctor --make-token ", scope, " --token-secret ", Path(folder + "/token.secret"))).out;
    return token.substr(0, token.find('\n'));
  }
  std::vector<std::string> ServerWords(bool tls, bool tokens) const {
    std::vector<std::string> out;
    if (tls) out = TlsWords("ours", "server", "ours");
    if (tokens) out.insert(out.end(), {"--token-secret", Path("ours/token.secret")});
    return out;
  }
  // An agent that reads to the end of oom.log; for at most 5 s.
  Result Agent(const std::string& address, const std::string& host, const std::string& job, const std::string& tls, const std::string& token) const {
    std::string words;
    for (const std::string& word : AgentWords(address, Path(Cat("spool-", host, "-", job)), job)) words += Cat(" ", word);
    return Shell(Cat("FIRSTFAULT_TOKEN='", token, "' timeout -s KILL 5", words, " --once --host ", host, " --log ", Path("oom.log"), tls));
  }
  Result Ask(const std::string& address, const std::string& words, const std::string& tls, const std::string& token) const {
    return Shell(Cat("FIRSTFAULT_TOKEN='", token, "' ", FIRSTFAULT_BINARY, " ", words, " --coordinator ", address, tls));
  }

  const Scratch scratch_;
};

void ExpectSays(const Result& result, int code, const std::string& words) {
  EXPECT_EQ(result.code, code) << result.out;
  EXPECT_NE(result.out.find(words), std::string::npos) << "'" << words << "' is not in: " << result.out;
}

TEST_F(SecurityTest, CertificatesOfTheSameAuthorityLetIn) {
  Coordinator coordinator(Path("data"), 0, "", ServerWords(true, false));
  EXPECT_EQ(Agent(coordinator.address(), "n01", "a", Tls("ours", "agent-n01", "ours"), "").code, 0);
  ExpectSays(Ask(coordinator.address(), "why a --one-line", Tls("ours", "client", "ours"), ""), 10, "rank 1");
  ExpectSays(Ask(coordinator.address(), "jobs", Tls("ours", "client", "ours"), ""), 0, "failed");
  EXPECT_EQ(coordinator.End(SIGTERM), 0);
}

TEST_F(SecurityTest, OtherCertificatesAreRefusedWithTheRemedy) {
  std::vector<std::string> words = ServerWords(true, true);
  Coordinator coordinator(Path("data"), 0, "", words);
  const std::string& address = coordinator.address();
  ExpectSays(Ask(address, "jobs", "", ""), 69, "give --tls-cert");
  ExpectSays(Ask(address, "jobs", Tls("theirs", "client", "theirs"), ""), 69, "not by the authority of --tls-ca");
  ExpectSays(Ask(address, "jobs", Tls("theirs", "client", "ours"), ""), 69, "refused our certificate");
  ExpectSays(Ask(address, "jobs", Tls("ours", "server", "ours"), ""), 69, "refused our certificate");
  ExpectSays(Agent(address, "n01", "a", Tls("theirs", "agent-n01", "ours"), Token("write")), 137, "refused our certificate");
  // A client's certificate in a server's place.
  Coordinator impostor(Path("other"), 0, "", TlsWords("ours", "client", "ours"));
  ExpectSays(Ask(impostor.address(), "jobs", Tls("ours", "client", "ours"), ""), 69, "not by the authority of --tls-ca");
  Coordinator plain(Path("plain"));
  ExpectSays(Ask(plain.address(), "jobs", Tls("ours", "client", "ours"), ""), 69, "does without TLS");
}

TEST_F(SecurityTest, TheNameInTheAddressMustBeInTheCertificate) {
  std::vector<std::string> words = ServerWords(true, false);
  words.insert(words.end(), {"--listen", "0.0.0.0:0"});
  const Coordinator coordinator(Path("data"), 0, "", words);
  const std::string port = Cat(":", coordinator.port());
  // c-ares, by which gRPC finds names, leaves some bytes behind at the end.
  EXPECT_EQ(Shell(Cat("ASAN_OPTIONS=detect_leaks=0 ", FIRSTFAULT_BINARY, " jobs --coordinator localhost", port, Tls("ours", "client", "ours"))).code, 0);
  ExpectSays(Ask(Cat("127.0.0.2", port), "jobs", Tls("ours", "client", "ours"), ""), 69, "its certificate has another name");
}

TEST_F(SecurityTest, AnAgentIsTheHostOfItsCertificate) {
  Coordinator coordinator(Path("data"), 0, "", ServerWords(true, false));
  const std::string& address = coordinator.address();
  ExpectSays(Agent(address, "n02", "a", Tls("ours", "agent-n01", "ours"), ""), 77, "its certificate is for n01");
  ExpectSays(Ask(address, "jobs", Tls("ours", "client", "ours"), ""), 0, "JOB");
  EXPECT_EQ(Ask(address, "why a", Tls("ours", "client", "ours"), "").code, 66) << "nothing of it was recorded";
  // What was kept back arrives once the certificate is right.
  EXPECT_EQ(Agent(address, "n02", "a", Tls("ours", "agent-n02", "ours"), "").code, 0);
  EXPECT_EQ(Ask(address, "why a", Tls("ours", "client", "ours"), "").code, 10);
}

TEST_F(SecurityTest, ATokenIsForItsJob) {
  const Coordinator coordinator(Path("data"), 0, "", ServerWords(false, true));
  const std::string& address = coordinator.address();
  ExpectSays(Agent(address, "n01", "a", "", ""), 77, "asks for a token");
  ExpectSays(Agent(address, "n01", "a", "", Token("job:a", "theirs")), 77, "not made with this coordinator's secret");
  ExpectSays(Agent(address, "n01", "a", "", Token("job:b")), 77, "is for job:b and not for job a");
  ExpectSays(Agent(address, "n01", "a", "", Token("read")), 77, "is for read and not for job a");
  EXPECT_EQ(Ask(address, "why a", "", Token("read")).code, 66) << "nothing of it was recorded";
  EXPECT_EQ(Agent(address, "n01", "a", "", Token("job:a")).code, 0);
  EXPECT_EQ(Agent(address, "n01", "b", "", Token("write")).code, 0);

  EXPECT_EQ(Ask(address, "why a", "", Token("job:a")).code, 10);
  EXPECT_EQ(Ask(address, "jobs", "", Token("read")).code, 0);
  ExpectSays(Ask(address, "why a", "", Token("job:b")), 77, "is for job:b and not for job a");
  ExpectSays(Ask(address, "why a", "", Token("write")), 77, "is for write");
  ExpectSays(Ask(address, "why", "", Token("job:a")), 77, "name the job");
  ExpectSays(Ask(address, "jobs", "", Token("job:a")), 77, "show a token of scope read");
  ExpectSays(Ask(address, "jobs", "", ""), 77, "asks for a token");
  std::ofstream(Path("token")) << Token("read") << "\n";
  EXPECT_EQ(Ask(address, Cat("jobs --token-file ", Path("token")), "", "").code, 0);
}

TEST_F(SecurityTest, RunShowsWhatItWasGiven) {
  const Coordinator coordinator(Path("data"), 0, "", ServerWords(true, true));
  const std::string host = Shell("hostname").out;
  ASSERT_EQ(MakeCerts("ours", Cat("--host ", host.substr(0, host.find('\n')))).code, 0);
  const std::string tls = Tls("ours", Cat("agent-", host.substr(0, host.find('\n'))), "ours");
  std::ofstream(Path("token")) << Token("job:r") << "\n";
  const Result result = Shell(Cat("TMPDIR=", scratch_.path().string(), " ", FIRSTFAULT_BINARY, " run --coordinator ", coordinator.address(), tls, " --token-file ",
                                  Path("token"), " --job r --exit-verdict -- sh -c 'cat ", Path("oom.log"), "; exit 1'"));
  ExpectSays(result, 10, "rank 1");
}

TEST_F(SecurityTest, BeyondThisMachineOnlyWithTlsOrInsecure) {
  const std::string coordinator = Cat("timeout 1 ", FIRSTFAULT_COORDINATOR_BINARY, " --data-dir ", Path("data"), " --listen 0.0.0.0:0");
  ExpectSays(Shell(coordinator), 64, "--insecure");
  ExpectSays(Shell(Cat(coordinator, " --insecure")), 124, "listening on");
  ExpectSays(Shell(Cat(coordinator, Tls("ours", "server", "ours"))), 124, "listening on");
  ExpectSays(Agent("192.0.2.1:7777", "n01", "a", "", ""), 64, "beyond this machine");
  ExpectSays(Ask("192.0.2.1:7777", "jobs", "", ""), 64, "beyond this machine");
  ExpectSays(Shell(Cat(coordinator, " --tls-cert ", Path("ours/server.crt"))), 64, "go together");
  ExpectSays(Shell(Cat(coordinator, " --insecure --token-secret ", Path("none"))), 64, "cannot be read");
  std::ofstream(Path("short")) << "secret\n";
  ExpectSays(Shell(Cat(coordinator, " --insecure --token-secret ", Path("short"))), 64, "fewer than 32 bytes");
}

TEST_F(SecurityTest, MakingCertificatesNeverOverwrites) {
  std::vector<std::pair<fs::path, std::string>> before;
  for (const auto& entry : fs::directory_iterator(Path("ours"))) {
    before.emplace_back(entry.path(), ReadFile(entry.path()));
    struct stat facts {};
    ASSERT_EQ(stat(entry.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, entry.path().extension() == ".crt" ? 0644u : 0600u) << entry.path();
  }
  EXPECT_EQ(before.size(), 11u);
  EXPECT_EQ(MakeCerts("ours", "--host n01 --host n03").code, 0);
  EXPECT_TRUE(fs::exists(Path("ours/agent-n03.crt")));
  for (const auto& [path, text] : before) EXPECT_TRUE(ReadFile(path) == text) << path << " was changed";
  EXPECT_EQ(Shell(Cat("openssl verify -CAfile ", Path("ours/ca.crt"), " ", Path("ours/agent-n03.crt"))).code, 0);
  fs::remove(Path("ours/agent-n03.key"));
  EXPECT_NE(MakeCerts("ours", "--host n03").code, 0);
  EXPECT_FALSE(fs::exists(Path("ours/agent-n03.key")));
  for (const char* wrong : {"../n01", "a/b", "'a b'", ".", "n01,DNS:n02"}) EXPECT_EQ(MakeCerts("ours", Cat("--host ", wrong)).code, 64) << wrong;
}

}  // namespace
}  // namespace firstfault::e2e
