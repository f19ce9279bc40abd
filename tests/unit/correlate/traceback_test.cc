// Tracebacks: chains, wrappers, interleaving.
#include "correlate/parse/traceback.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace firstfault {
namespace {

// A reader over lines given as text.
struct Text {
  explicit Text(std::vector<std::string> in) : lines(std::move(in)) {}
  LineReader Reader() {
    return LineReader([this, i = size_t{0}]() mutable -> std::unique_ptr<SourceLine> {
      if (i >= lines.size()) return nullptr;
      auto line = std::make_unique<SourceLine>(i, lines[i], PrefixHabits{});
      ++i;
      return line;
    });
  }
  std::vector<std::string> lines;
};

TEST(Traceback, LastLineNamesTheException) {
  Text text({"Traceback (most recent call last):", "  File \"a.py\", line 1, in <module>", "    main()",
             "ValueError: bad shape", "next log line"});
  LineReader reader = text.Reader();
  const TracebackParse parse = ParseTraceback(reader);
  ASSERT_EQ(parse.chains.size(), 1u);
  ASSERT_EQ(parse.chains[0].raised.size(), 1u);
  EXPECT_EQ(parse.chains[0].raised[0].class_name, "ValueError");
  EXPECT_EQ(parse.chains[0].raised[0].line, 3u);
}

TEST(Traceback, FirstOfAChainIsTheCause) {
  Text text({"Traceback (most recent call last):", "  File \"a.py\", line 1, in f", "RuntimeError: file write failed", "",
             "During handling of the above exception, another exception occurred:", "",
             "Traceback (most recent call last):", "  File \"a.py\", line 2, in g", "RuntimeError: unexpected pos 1 vs 2"});
  LineReader reader = text.Reader();
  const TracebackParse parse = ParseTraceback(reader);
  ASSERT_EQ(parse.chains.size(), 1u);
  ASSERT_EQ(parse.chains[0].raised.size(), 2u);
  EXPECT_EQ(parse.chains[0].cause, 0u);
}

TEST(Traceback, QuotedInnerTracebackIsTheCause) {
  Text text({"Traceback (most recent call last):", "  File \"a.py\", line 1, in f",
             "KeyError: Caught KeyError in DataLoader worker process 0.", "Original Traceback (most recent call last):",
             "  File \"b.py\", line 9, in __getitem__", "KeyError: 'label'"});
  LineReader reader = text.Reader();
  const TracebackParse parse = ParseTraceback(reader);
  ASSERT_EQ(parse.chains.size(), 1u);
  ASSERT_EQ(parse.chains[0].raised.size(), 2u);
  EXPECT_EQ(parse.chains[0].cause, 1u);
}

TEST(Traceback, SpawnNamesTheProcess) {
  Text text({"Traceback (most recent call last):", "  File \"a.py\", line 1, in <module>",
             "torch.multiprocessing.spawn.ProcessRaisedException: ", "",
             "-- Process 3 terminated with the following error:", "Traceback (most recent call last):",
             "  File \"b.py\", line 2, in run", "RuntimeError: inner"});
  LineReader reader = text.Reader();
  const TracebackParse parse = ParseTraceback(reader);
  ASSERT_EQ(parse.chains.size(), 1u);
  ASSERT_EQ(parse.chains[0].raised.size(), 2u);
  const Raised& cause = parse.chains[0].raised[parse.chains[0].cause];
  EXPECT_EQ(cause.process, 3);
  EXPECT_EQ(cause.line, 7u);
}

TEST(Traceback, TaggedWritersAreKeptApart) {
  Text text({"[rank1]: Traceback (most recent call last):", "[rank0]: Traceback (most recent call last):",
             "[rank1]:   File \"a.py\", line 1, in f", "[rank0]:   File \"a.py\", line 1, in f",
             "[rank0]: ValueError: zero", "[rank1]: KeyError: 'one'"});
  LineReader reader = text.Reader();
  const TracebackParse parse = ParseTraceback(reader);
  ASSERT_EQ(parse.chains.size(), 1u);
  EXPECT_EQ(parse.chains[0].raised[0].class_name, "KeyError");
  for (size_t line : parse.lines) EXPECT_EQ(text.lines[line].substr(0, 7), "[rank1]");
}

TEST(Traceback, UntaggedInterleavedTracebacksAllEnd) {
  Text text({"Traceback (most recent call last):", "Traceback (most recent call last):",
             "  File \"a.py\", line 1, in <module>", "  File \"a.py\", line 1, in <module>", "    import nothing",
             "Traceback (most recent call last):", "ModuleNotFoundError: No module named 'nothing'",
             "  File \"a.py\", line 1, in <module>", "    import nothing",
             "ModuleNotFoundError: No module named 'nothing'", "    import nothing",
             "ModuleNotFoundError: No module named 'nothing'"});
  LineReader reader = text.Reader();
  EXPECT_EQ(ParseTraceback(reader).chains.size(), 3u);
}

TEST(Traceback, CutTracebackGivesNothing) {
  Text text({"Traceback (most recent call last):", "  File \"a.py\", line 1, in f"});
  LineReader reader = text.Reader();
  EXPECT_TRUE(ParseTraceback(reader).chains.empty());
}

TEST(Traceback, MessageGoesOnOverLines) {
  Text text({"[rank2]: Traceback (most recent call last):", "[rank2]:   File \"a.py\", line 1, in f",
             "[rank2]: torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system error",
             "[rank2]: ncclSystemError: System call failed.", "[rank2]: Last error:",
             "[rank2]: socketProgress: Connection closed by remote peer n01<4>",
             "[rank2]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] another"});
  LineReader reader = text.Reader();
  const TracebackParse parse = ParseTraceback(reader);
  ASSERT_EQ(parse.chains.size(), 1u);
  EXPECT_EQ(parse.chains[0].raised[0].lines_end, 6u);
}

TEST(Traceback, FramesTellTheCollective) {
  EXPECT_EQ(CollectiveInFrame("  File \"/opt/lib/torch/distributed/distributed_c10d.py\", line 1541, in all_reduce"), "all_reduce");
  EXPECT_EQ(CollectiveInFrame("  File \"/opt/lib/torch/distributed/distributed_c10d.py\", line 40, in _store_barrier"), "");
  EXPECT_EQ(CollectiveInFrame("  File \"/srv/train.py\", line 7, in all_reduce"), "");
}

}  // namespace
}  // namespace firstfault
