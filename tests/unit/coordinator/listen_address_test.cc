#include "coordinator/listen_address.h"

#include <gtest/gtest.h>

namespace firstfault {
namespace {

TEST(ListenAddress, OnlyLoopbackIsTaken) {
  for (const char* good : {"127.0.0.1:7777", "127.8.0.1:0", "localhost:1", "[::1]:65535"}) {
    EXPECT_EQ(WrongListenAddress(good), std::nullopt) << good;
  }
  for (const char* bad : {"0.0.0.0:7777", "[::]:7777", "10.0.0.1:7777", "n01:7777", "128.0.0.1:1", "127.0.0.1.example.org:1"}) {
    const auto wrong = WrongListenAddress(bad);
    ASSERT_TRUE(wrong) << bad;
    EXPECT_NE(wrong->find("beyond this machine"), std::string::npos) << *wrong;
  }
  for (const char* bad : {"", "127.0.0.1", ":7777", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"}) {
    const auto wrong = WrongListenAddress(bad);
    ASSERT_TRUE(wrong) << bad;
    EXPECT_NE(wrong->find("is not HOST:PORT"), std::string::npos) << *wrong;
  }
}

TEST(ListenAddress, TakesAnotherPort) { EXPECT_EQ(WithPort("[::1]:0", 77), "[::1]:77"); }

}  // namespace
}  // namespace firstfault
