// What is advised, and what is not because it is on already.
#include "correlate/advice.h"

#include <gtest/gtest.h>

#include "correlate/correlate.h"

namespace firstfault {
namespace {

constexpr char kOom[] =
    "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 1 has a total capacity of "
    "79.15 GiB of which 1.44 GiB is free. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n";

std::string ChangesFor(const std::string& log) {
  ScanBuffers buffers;
  SourceInfo info;
  info.path = "train.log";
  SourceScanner scanner(BuiltInEngine(), buffers, info);
  scanner.Feed(log);
  std::vector<SourceDigest> digests;
  digests.push_back(scanner.Finish());
  const v1::Report report = Correlate(BuiltInEngine(), digests, {});
  std::string out;
  for (const std::string& change : report.advice().changes()) out += change + "\n";
  return out;
}

TEST(Advice, ASettingThatTheFaultItselfProposesIsNotOn) {
  const std::string changes = ChangesFor(kOom);
  EXPECT_EQ(changes.find("already on"), std::string::npos) << changes;
  EXPECT_NE(changes.find("expandable_segments"), std::string::npos) << changes;
}

TEST(Advice, ASettingThatTheLogShowsIsNotProposedAgain) {
  const std::string changes = ChangesFor(std::string("env: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n") + kOom);
  EXPECT_NE(changes.find("already on"), std::string::npos) << changes;
}

TEST(Advice, WhatTheLogDoesNotShowIsNotSpokenOf) {
  const std::string other = "Process 4711 has 9.25 GiB memory in use. ";
  std::string shared = kOom;
  shared.insert(shared.find("If reserved"), other);
  EXPECT_EQ(ChangesFor(kOom).find("<other_pid>"), std::string::npos);
  EXPECT_NE(ChangesFor(kOom).find("Asked 3.91 GiB"), std::string::npos) << ChangesFor(kOom);
  EXPECT_NE(ChangesFor(shared).find("4711"), std::string::npos) << ChangesFor(shared);
}

}  // namespace
}  // namespace firstfault
