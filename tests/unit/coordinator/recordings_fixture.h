// recordings_fixture.h: an empty data folder with its recordings, removed at the end.
#ifndef FIRSTFAULT_TESTS_UNIT_COORDINATOR_RECORDINGS_FIXTURE_H_
#define FIRSTFAULT_TESTS_UNIT_COORDINATOR_RECORDINGS_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "coordinator/recording.h"

namespace firstfault {

inline constexpr char kOom[] =
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 1 has a total capacity of "
    "79.11 GiB of which 1.87 GiB is free. Including non-PyTorch memory, this process has 71.20 GiB memory in use.\n";

class RecordingsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "firstfault_recordings_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto recordings = Recordings::Open(name);
    ASSERT_TRUE(recordings.ok());
    recordings_ = *std::move(recordings);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_TESTS_UNIT_COORDINATOR_RECORDINGS_FIXTURE_H_
