// The line vectors of the log-prefix reference that need the whole reader: what a line gives as fields.
// (Those of the prefix alone are in prefix_test.cc, joined container records in decode_test.cc.)
#include <gtest/gtest.h>

#include "correlate/source_scanner.h"

namespace firstfault {
namespace {

struct Vector {
  const char* line;
  const char* id;     // a row among those of the line
  std::vector<std::pair<const char*, const char*>> fields;
};

TEST(ReferenceVectors, FieldsOfTheLine) {
  const Vector vectors[] = {
      {"[rank0]:[W321 09:05:01.000112233 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=84, addr=[n12]:51234, "
       "remote=[n01]:29500): failed to recv, got 0 bytes",
       "store.recv", {{"peer_host", "n01"}, {"port", "29500"}}},
      {"n01: n01:4242:4310 [2] NCCL INFO comm 0x55 rank 10 nranks 64 cudaDev 2 nvmlDev 6 busId a1000 commId 0xabc - Init COMPLETE",
       "identity.nccl_comm", {{"rank", "10"}, {"world_size", "64"}, {"bus", "a1000"}}},
      {"[2026-01-02 03:04:05] n02:77:99 [0] misc/socket.cc:71 NCCL WARN socketProgress: Connection closed by remote peer n01<40112>",
       "nccl.net.peer_closed", {{"peer_host", "n01"}}},
      {"E0517 08:24:03.805000 140199 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: -9) local_rank: 2 (pid: "
       "501) of binary: /usr/bin/python",
       "elastic.failed_sigkill", {{"local_rank", "2"}, {"pid", "501"}, {"exit_code", "-9"}}},
      {"[Thu Jan  1 10:00:00 2026] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
       "xid.79", {{"bus", "0000:41:00"}, {"xid", "79"}, {"pid", ""}}},
      {"6,3964,206764307,-;NVRM: GPU at PCI:0000:41:00: GPU-1c5e0b1f-0000-1111-2222-333344445555", "nvrm.uuid", {{"bus", "0000:41:00"}}},
  };
  const Engine& engine = BuiltInEngine();
  ScanBuffers buffers;
  for (const Vector& vector : vectors) {
    SourceScanner scanner(engine, buffers, {});
    scanner.Feed(std::string(vector.line) + "\n");
    const SourceDigest digest = scanner.Finish();
    const Event* found = nullptr;
    for (const auto* list : {&digest.events, &digest.facts}) {
      for (const Event& event : *list) {
        if (engine.catalogue->signatures()[event.signature].row.id() == vector.id) found = &event;
      }
    }
    ASSERT_NE(found, nullptr) << vector.id << ": " << vector.line;
    for (const auto& [name, value] : vector.fields) EXPECT_EQ(FieldOf(found->fields, name), std::string_view(value)) << vector.id << " " << name;
  }
}

}  // namespace
}  // namespace firstfault
