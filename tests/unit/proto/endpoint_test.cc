#include "proto/endpoint.h"

#include <gtest/gtest.h>

namespace firstfault {
namespace {

TEST(Endpoint, WithoutTlsOnlyLoopbackIsTaken) {
  for (const char* good : {"127.0.0.1:7777", "127.8.0.1:0", "localhost:1", "[::1]:65535"}) {
    EXPECT_EQ(WrongEndpoint("--listen", good, false), std::nullopt) << good;
  }
  for (const char* bad : {"0.0.0.0:7777", "[::]:7777", "10.0.0.1:7777", "n01:7777", "128.0.0.1:1", "127.0.0.1.example.org:1"}) {
    const auto wrong = WrongEndpoint("--listen", bad, false);
    ASSERT_TRUE(wrong) << bad;
    EXPECT_NE(wrong->find("--insecure"), std::string::npos) << *wrong;
    EXPECT_TRUE(wrong->starts_with("--listen: ")) << *wrong;
    EXPECT_EQ(WrongEndpoint("--listen", bad, true), std::nullopt) << bad;
  }
  for (const char* bad : {"", "127.0.0.1", ":7777", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"}) {
    const auto wrong = WrongEndpoint("--http", bad, true);
    ASSERT_TRUE(wrong) << bad;
    EXPECT_NE(wrong->find("is not HOST:PORT"), std::string::npos) << *wrong;
  }
}

TEST(Endpoint, TakesAnotherPort) { EXPECT_EQ(WithPort("[::1]:0", 77), "[::1]:77"); }

}  // namespace
}  // namespace firstfault
