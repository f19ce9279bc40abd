// Tokens and grants.
#include "coordinator/access.h"

#include <gtest/gtest.h>

#include "coordinator/escape.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

const std::string kSecret(64, 'a'), kOther = std::string(63, 'a') + "b";

std::string Token(std::string_view scope, const std::string& secret = kSecret) { return TokenFor(secret, scope).value(); }

absl::StatusOr<Grant> Admit(const std::string& token) { return Access::Of(kSecret)->Admit({std::nullopt, token, ""}); }

TEST(Access, ATokenIsForWhatItSays) {
  struct Row {
    std::string scope;
    bool writes_a, writes_b, asks_a, asks_b, asks_all;
  };
  for (const Row& row : {Row{"job:a", true, false, true, false, false}, Row{"write", true, true, false, false, false},
                         Row{"read", false, false, true, true, true}}) {
    const auto grant = Admit(Token(row.scope));
    ASSERT_TRUE(grant.ok()) << grant.status();
    EXPECT_EQ(grant->MayWrite("a").ok(), row.writes_a) << row.scope;
    EXPECT_EQ(grant->MayWrite("b").ok(), row.writes_b) << row.scope;
    EXPECT_EQ(grant->MayAsk("a").ok(), row.asks_a) << row.scope;
    EXPECT_EQ(grant->MayAsk("b").ok(), row.asks_b) << row.scope;
    EXPECT_EQ(grant->MayAsk("").ok(), row.asks_all) << row.scope;
  }
}

TEST(Access, JobsMayBeCalledAnything) {
  for (const std::string& job : {std::string("a/b"), std::string("a.b"), std::string("a b"), std::string("job:a"), std::string("read"), std::string("%41"),
                                 std::string("\0\n\xff", 3)}) {
    const std::string token = Token(Cat("job:", job));
    for (const char c : token) EXPECT_TRUE(c > ' ' && c <= '~') << token;
    const auto grant = Admit(token);
    ASSERT_TRUE(grant.ok()) << token;
    EXPECT_TRUE(grant->MayWrite(job).ok());
    EXPECT_FALSE(grant->MayWrite("A").ok());
    EXPECT_FALSE(grant->MayWrite(job + "x").ok());
  }
}

TEST(Access, EveryChangedTokenIsRefused) {
  const std::string token = Token("job:run-7");
  for (size_t i = 0; i < token.size(); ++i) {
    for (const char c : {'0', 'f', '.', ':', '%', 'A'}) {
      std::string changed = token;
      changed[i] = c;
      EXPECT_EQ(Admit(changed).ok(), changed == token) << changed;
    }
    EXPECT_FALSE(Admit(token.substr(0, i)).ok());
    EXPECT_FALSE(Admit(token.substr(i + 1)).ok());
  }
  for (const std::string& wrong : {token + "0", Token("job:run-7", kOther), std::string(), std::string("."), std::string("read"),
                                   "read" + token.substr(token.rfind('.')), "job:run-8" + token.substr(token.rfind('.'))}) {
    const auto grant = Admit(wrong);
    EXPECT_EQ(grant.status().code(), absl::StatusCode::kUnauthenticated) << wrong;
    EXPECT_NE(grant.status().message().find("--make-token"), absl::string_view::npos) << grant.status();
  }
}

TEST(Access, WithoutASecretNoTokenIsAskedFor) {
  const auto grant = Access::Of("")->Admit({std::nullopt, "whatever", ""});
  ASSERT_TRUE(grant.ok());
  EXPECT_TRUE(grant->MayWrite("a").ok());
  EXPECT_TRUE(grant->MayAsk("").ok());
  EXPECT_TRUE(grant->MayBe("n01").ok());
  EXPECT_FALSE(Access::Of("short").ok());
}

TEST(Access, AHostIsWhoItsCertificateSays) {
  const auto grant = Access::Of("")->Admit({std::vector<std::string>{"n01", "n01.example.org"}, "", ""});
  ASSERT_TRUE(grant.ok());
  EXPECT_TRUE(grant->MayBe("n01").ok());
  EXPECT_TRUE(grant->MayBe("n01.example.org").ok());
  const absl::Status other = grant->MayBe("n02");
  EXPECT_EQ(other.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(other.message().find("n01, n01.example.org"), absl::string_view::npos) << other;
  EXPECT_FALSE(Access::Of("")->Admit({std::vector<std::string>{}, "", ""})->MayBe("n01").ok());
}

TEST(Access, ScopesAreAClosedSet) {
  for (const char* wrong : {"", "job:", "jobs", "READ", "write ", "admin"}) EXPECT_EQ(TokenFor(kSecret, wrong), std::nullopt) << wrong;
  EXPECT_EQ(TokenFor(kSecret, "job:" + std::string(65, 'x')), std::nullopt);
}

TEST(Escape, GoesThereAndBack) {
  for (const std::string name : {"", "run-7", "a/b.c", "%", "\xff\x01"}) EXPECT_EQ(Unescaped(Escaped(name)), name);
  EXPECT_EQ(Escaped("a/b"), "a%2Fb");
  for (const char* wrong : {"a/b", "%", "%2", "%2f", "%41", "%GG"}) EXPECT_EQ(Unescaped(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace firstfault
