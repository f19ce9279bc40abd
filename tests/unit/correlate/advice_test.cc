// What is advised, and what is not because it is on already.
#include "correlate/advice.h"

#include <gtest/gtest.h>

#include "tests/unit/correlate/report_on.h"

namespace firstfault {
namespace {

constexpr char kOom[] =
    "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 1 has a total "
    "capacity of "
    "79.15 GiB of which 1.44 GiB is free. Of the allocated memory 66.00 GiB is allocated by PyTorch, and "
    "9.00 GiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n";

std::string ChangesFor(const std::string& log) { return AdviceOf(ReportOn(log)); }

TEST(Advice, ASettingThatTheFaultItselfProposesIsNotOn) {
  const std::string changes = ChangesFor(kOom);
  EXPECT_EQ(changes.find("already on"), std::string::npos) << changes;
  EXPECT_NE(changes.find("expandable_segments"), std::string::npos) << changes;
}

TEST(Advice, ASettingThatTheLogShowsIsNotProposedAgain) {
  const std::string changes =
      ChangesFor(std::string("env: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n") + kOom);
  EXPECT_NE(changes.find("already on"), std::string::npos) << changes;
}

TEST(Advice, WhatTheLogDoesNotShowIsNotSpokenOf) {
  std::string shared = kOom;
  const std::string in_use =
      "Process 4711 has 9.25 GiB memory in use. Including non-PyTorch memory, this process has 68.00 GiB "
      "memory in use. ";
  shared.insert(shared.find("Of the allocated"), in_use);
  EXPECT_EQ(ChangesFor(kOom).find('<'), std::string::npos) << ChangesFor(kOom);
  EXPECT_EQ(ChangesFor(kOom).find("process that holds"), std::string::npos) << ChangesFor(kOom);
  EXPECT_NE(ChangesFor(shared).find("4711"), std::string::npos) << ChangesFor(shared);
}

}  // namespace
}  // namespace firstfault
