// The reader of log bytes: hazards of real logs, bounds, and independence from how the bytes were cut.
#include "correlate/source_scanner.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "correlate/parse/line.h"
#include "correlate/parse/progress.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

SourceDigest Scan(const std::string& bytes, size_t cut = SIZE_MAX, SourceInfo info = {}) {
  static ScanBuffers buffers;
  SourceScanner scanner(BuiltInEngine(), buffers, std::move(info));
  for (size_t at = 0; at < bytes.size(); at += cut) {
    scanner.Feed(std::string_view(bytes).substr(at, cut));
    if (cut == SIZE_MAX) break;
  }
  return scanner.Finish();
}

std::string IdOf(const Event& event) { return BuiltInEngine().catalogue->signatures()[event.signature].row.id(); }

const std::string kOom =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of "
    "which 1.02 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by "
    "PyTorch but unallocated.";

TEST(SourceScanner, FindsAnEventWithItsPosition) {
  const SourceDigest digest = Scan("one\ntwo\n[rank3]: " + kOom + "\nthree\n");
  ASSERT_EQ(digest.events.size(), 1u);
  const Event& event = digest.events[0];
  EXPECT_EQ(IdOf(event), "oom.torch");
  EXPECT_EQ(event.at.line, 3u);
  EXPECT_EQ(event.at.byte_offset, 8u);
  EXPECT_EQ(event.prefix.rank, 3);
  EXPECT_EQ(FieldOf(event.fields, "asked"), "2.00 GiB");
  EXPECT_EQ(digest.lines, 4);
}

TEST(SourceScanner, CarriageReturnsAloneEndLines) {
  const SourceDigest digest = Scan("one\rtwo\r[rank3]: " + kOom + "\rthree\r");
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_EQ(digest.events[0].at.line, 3u);
  EXPECT_EQ(digest.events[0].at.byte_offset, 8u);
  EXPECT_EQ(digest.events[0].text, "[rank3]: " + kOom);
  EXPECT_EQ(digest.lines, 4);
}

TEST(SourceScanner, AMessageThatABarOverwritesIsRead) {
  for (const size_t cut : {SIZE_MAX, size_t{1}}) {
    const SourceDigest digest = Scan("a\r\nEpoch 1:  5%|##  |\r[rank3]: " + kOom + "\rEpoch 1:  6%|##  |\r     \r[rank4]: " + kOom + "\r\nb\r\n", cut);
    ASSERT_EQ(digest.events.size(), 2u);
    EXPECT_EQ(digest.events[0].prefix.rank, 3);
    EXPECT_EQ(digest.events[0].at.line, 2u);
    EXPECT_TRUE(digest.events[0].text.ends_with(kOom));
    EXPECT_EQ(digest.events[1].prefix.rank, 4);
    EXPECT_EQ(digest.events[1].at.line, 2u);
    EXPECT_EQ(digest.lines, 3);
  }
}

TEST(SourceScanner, EveryDrawingOfALongLineIsRead) {
  for (const bool with_newlines : {true, false}) {
    std::string bar;
    while (bar.size() < 5u << 20) bar += Cat("\r ", bar.size(), "/9999999 [00:01<00:02, 3.1it/s]");
    const std::string before = bar.substr(0, bar.size() / 2), newline = with_newlines ? "\n" : "\r";
    const std::string log = Cat(before, "\r[rank3]: ", kOom, bar, "\r[rank4]: ", kOom, newline, "[rank5]: ", kOom, newline);
    const SourceDigest whole = Scan(log);
    ASSERT_EQ(whole.events.size(), 3u);
    EXPECT_EQ(whole.events[0].text, "[rank3]: " + kOom);
    EXPECT_EQ(whole.events[0].at.byte_offset, before.size() + 1);
    EXPECT_EQ(whole.events[1].text, "[rank4]: " + kOom);
    EXPECT_EQ(whole.lines_cut, 0);
    if (with_newlines) {
      EXPECT_EQ(whole.events[0].at.line, 1u);
      EXPECT_EQ(whole.events[1].at.line, 1u);
      EXPECT_EQ(whole.events[2].at.line, 2u);
      EXPECT_EQ(whole.lines, 2);
    } else {
      EXPECT_EQ(whole.events[2].at.line, static_cast<size_t>(whole.lines));
    }
    for (const size_t cut : {997u, 4096u, 100'000u}) {
      const SourceDigest digest = Scan(log, cut);
      ASSERT_EQ(digest.events.size(), 3u) << cut;
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(digest.events[i].at.line, whole.events[i].at.line) << cut;
        EXPECT_EQ(digest.events[i].text, whole.events[i].text) << cut;
      }
    }
  }
}

TEST(SourceScanner, AnyCutGivesTheSameDigest) {
  std::string log;
  for (int i = 0; i < 3000; ++i) {
    log += "iter " + std::to_string(i) + ": loss 1.2\r\n";
    if (i % 500 == 7) log += "[rank" + std::to_string(i % 4) + "]: Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: x\n";
    if (i % 700 == 3) log += "\x1b[31m[rank1]: " + kOom + "\x1b[0m\n";
  }
  const SourceDigest whole = Scan(log);
  for (size_t cut : {1, 7, 4096, 65536, 131072}) {
    const SourceDigest digest = Scan(log, cut);
    ASSERT_EQ(digest.events.size(), whole.events.size()) << cut;
    for (size_t i = 0; i < whole.events.size(); ++i) {
      EXPECT_EQ(digest.events[i].text, whole.events[i].text);
      EXPECT_EQ(digest.events[i].at.line, whole.events[i].at.line);
      EXPECT_EQ(digest.events[i].block, whole.events[i].block);
    }
    EXPECT_EQ(digest.lines, whole.lines);
    EXPECT_EQ(digest.progress.size(), whole.progress.size());
  }
}

TEST(SourceScanner, ColoursAndRedrawnBarsAreScannedAsStripped) {
  const SourceDigest bar = Scan("100%|####| 10/10 [00:01<00:00]\rTraceback (most recent call last):\n"
                                "  File \"a\", line 1, in f\nKeyError: 'x'\n");
  ASSERT_EQ(bar.events.size(), 1u);
  EXPECT_TRUE(bar.events[0].in_traceback);
  const SourceDigest coloured = Scan("\x1b[1m" + kOom.substr(0, 30) + "\x1b[31m" + kOom.substr(30) + "\x1b[0m\n");
  ASSERT_EQ(coloured.events.size(), 1u);
  EXPECT_EQ(IdOf(coloured.events[0]), "oom.torch");
}

TEST(SourceScanner, ALineGluedToAProgressBarIsItsOwn) {
  const SourceDigest digest = Scan("Running:  88%|####| 371/421 [29:55<03:25, 2.5 examples/s]Traceback (most recent call last):\n"
                                   "  File \"a\", line 1, in f\nKeyError: 'x'\n");
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_TRUE(digest.events[0].in_traceback);
  ASSERT_FALSE(digest.progress.empty());
  EXPECT_TRUE(digest.progress[0].bar);
  EXPECT_EQ(digest.progress[0].step, 371);
  EXPECT_TRUE(digest.progress[0].text.starts_with("Running:  88%|")) << "a bar may be a rank's last words";
}

TEST(SourceScanner, FrameTextInsideATracebackIsNoEvent) {
  const SourceDigest digest = Scan("Traceback (most recent call last):\n  File \"a\", line 1, in f\n    raise RuntimeError(\"" + kOom +
                                   "\")\nValueError: other\n");
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_NE(IdOf(digest.events[0]), "oom.torch");
}

TEST(SourceScanner, TheLastLineOfATracebackAloneIsAnEvent) {
  const SourceDigest digest = Scan("step 1\n[rank0]: RuntimeError: boom\nstep 2\nmylib.ShardError: shard 7\n");
  ASSERT_EQ(digest.events.size(), 2u);
  EXPECT_EQ(IdOf(digest.events[0]), "py.traceback");
  EXPECT_EQ(digest.events[0].exception, "RuntimeError");
  EXPECT_FALSE(digest.events[0].in_traceback);
  EXPECT_EQ(digest.events[0].prefix.rank, 0);
  EXPECT_EQ(digest.events[1].exception, "mylib.ShardError");
  // Not where somebody only tells of it, nor a second time behind the traceback itself.
  EXPECT_TRUE(Scan("2026-03-04 21:47:01,900 - trainer - ERROR - RuntimeError: boom\nWARNING:root:RuntimeError: boom\n"
                   "    RuntimeError: boom\nsaw RuntimeError: boom\nUserWarning: RuntimeError: boom\nError: boom\n").events.empty());
  EXPECT_EQ(Scan("Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: x\n").events.size(), 1u);
}

TEST(SourceScanner, IgnoredExceptionsAreNoEvents) {
  EXPECT_TRUE(Scan("Exception ignored in: <function _C.__del__ at 0x7f>\nTraceback (most recent call last):\n"
                   "  File \"a\", line 1, in f\nOSError: [Errno 9] Bad file descriptor\n")
                  .events.empty());
}

TEST(SourceScanner, StormsAreFoldedAndCounted) {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "[rank0]: " + kOom + "\n";
  const SourceDigest digest = Scan(log);
  EXPECT_LT(digest.events.size(), 50u);
  EXPECT_EQ(digest.events[0].count + static_cast<int64_t>(digest.events.size()) - 1, 1000);
  EXPECT_EQ(digest.events[0].last_at.line, 1000u);
}

TEST(SourceScanner, ContextOfTheFirstFaultIsKept) {
  std::string log;
  for (int i = 1; i <= 300; ++i) log += "line " + std::to_string(i) + "\n";
  const SourceDigest digest = Scan(log + kOom + "\n");
  ASSERT_EQ(digest.events.size(), 1u);
  const std::vector<std::string_view> context = Lines(digest.events[0].context);
  ASSERT_EQ(context.size(), 100u);
  EXPECT_EQ(context.front(), "line 201");
  EXPECT_EQ(context.back(), "line 300");
}

TEST(SourceScanner, LongLinesAreCutAndCounted) {
  const std::string log = std::string(3 * kLineBytesMax, 'x') + "\n" + kOom + "\n";
  const SourceDigest digest = Scan(log, 100000);
  EXPECT_EQ(digest.lines_cut, 1);
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_EQ(digest.events[0].at.line, 2u);
  EXPECT_EQ(digest.events[0].at.byte_offset, 3 * kLineBytesMax + 1);
}

TEST(SourceScanner, AMebibyteLineIsReadWhole) {
  const std::string log = std::string(1 << 20, 'x') + " " + kOom + "\nend\n";
  const SourceDigest digest = Scan(log, 4096);
  EXPECT_EQ(digest.lines_cut, 0);
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_LE(digest.events[0].text.size(), kTextBytesMax);
}

TEST(SourceScanner, HolesKeepOffsetsRight) {
  ScanBuffers buffers;
  SourceScanner scanner(BuiltInEngine(), buffers, {});
  scanner.Feed("first\n");
  scanner.Skip(uint64_t{4} << 30, 0);
  scanner.Feed(kOom + "\n");
  const SourceDigest digest = scanner.Finish();
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_EQ(digest.events[0].at.byte_offset, (uint64_t{4} << 30) + 6);
  EXPECT_EQ(digest.events[0].at.line, 2u);
}

// What is sent of a source: its head, the lines around each fault, its tail.
TEST(SourceScanner, HolesOfHealthyLinesChangeNothing) {
  std::vector<std::string> lines;
  for (int i = 1; i <= 3000; ++i) lines.push_back("[rank3]: loading shard " + std::to_string(i) + " of many");
  const std::vector<size_t> faults = {1000, 1050, 2400};
  lines[1000] = "[rank3]: " + kOom;
  lines[1050] = "[rank3]: Traceback (most recent call last):";
  lines[1051] = "[rank3]:   File \"a\", line 1, in f";
  lines[1052] = "[rank3]: ValueError: x";
  lines[2400] = "[rank3]: " + kOom;
  std::vector<bool> sent(lines.size());
  const auto send = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) sent[i] = true;
  };
  send(0, 64);
  send(lines.size() - 100, lines.size());
  for (const size_t at : faults) send(at - 100, at + 64);

  std::string whole;
  for (const std::string& line : lines) whole += line + "\n";
  const SourceDigest all = Scan(whole);
  ScanBuffers buffers;
  SourceScanner scanner(BuiltInEngine(), buffers, {});
  for (size_t i = 0; i < lines.size(); ++i) {
    if (sent[i]) {
      scanner.Feed(lines[i] + "\n");
    } else {
      scanner.Skip(lines[i].size() + 1, 1);
    }
  }
  const SourceDigest some = scanner.Finish();
  ASSERT_EQ(some.events.size(), all.events.size());
  ASSERT_EQ(all.events.size(), 3u);
  for (size_t i = 0; i < all.events.size(); ++i) {
    EXPECT_EQ(some.events[i].signature, all.events[i].signature);
    EXPECT_EQ(some.events[i].at.line, all.events[i].at.line);
    EXPECT_EQ(some.events[i].at.byte_offset, all.events[i].at.byte_offset);
    EXPECT_EQ(some.events[i].text, all.events[i].text);
    EXPECT_EQ(some.events[i].block, all.events[i].block);
    EXPECT_EQ(some.events[i].context, all.events[i].context);
  }
  EXPECT_EQ(some.lines, all.lines);
  EXPECT_EQ(some.bytes, all.bytes);
}

TEST(SourceScanner, AHoleInsideALineCountsIt) {
  ScanBuffers buffers;
  SourceScanner scanner(BuiltInEngine(), buffers, {});
  scanner.Feed("first\nsec");
  scanner.Skip(8, 2);  // "ond\nrd.\n"
  scanner.Feed(kOom + "\n");
  const SourceDigest digest = scanner.Finish();
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_EQ(digest.events[0].at.line, 4u);
  EXPECT_EQ(digest.lines, 4);
}

TEST(SourceScanner, RandomBytesNeitherCrashNorMatch) {
  std::mt19937 random(7);
  std::string log(1 << 20, '\0');
  for (char& c : log) c = static_cast<char>(random());
  const SourceDigest digest = Scan(log, 5000);
  EXPECT_EQ(digest.bytes, 1 << 20);
}

TEST(SourceScanner, EmptyAndUnterminatedInput) {
  EXPECT_EQ(Scan("").lines, 0);
  const SourceDigest digest = Scan(kOom);
  EXPECT_EQ(digest.lines, 1);
  EXPECT_EQ(digest.events.size(), 1u);
}

TEST(SourceScanner, TorchrunReportIsOneEventWithItsEntries) {
  const SourceDigest digest = Scan(
      "Traceback (most recent call last):\n  File \"/opt/bin/torchrun\", line 8, in <module>\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============================================================\ntrain.py FAILED\n"
      "------------------------------------------------------------\nFailures:\n[1]:\n  time      : 2026-04-22_07:55:19\n"
      "  host      : n02\n  rank      : 5 (local_rank: 1)\n  exitcode  : 1 (pid: 51121)\n  error_file: <N/A>\n"
      "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n"
      "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
      "  time      : 2026-04-22_07:55:18\n  host      : n02\n  rank      : 4 (local_rank: 0)\n  exitcode  : -9 (pid: 51120)\n"
      "  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 51120\n"
      "============================================================\n");
  ASSERT_EQ(digest.events.size(), 1u);
  ASSERT_EQ(digest.events[0].reports.size(), 2u);
  EXPECT_EQ(digest.events[0].reports[0].rank, 5);
  EXPECT_EQ(digest.events[0].reports[0].local_rank, 1);
  EXPECT_TRUE(digest.events[0].reports[1].is_root);
  EXPECT_EQ(digest.events[0].reports[1].exit_code, -9);
  EXPECT_EQ(digest.events[0].reports[1].pid, 51120);
}

TEST(SourceScanner, AnExceptionThatAReportQuotesIsAnEventOfItsRank) {
  const SourceDigest digest = Scan(
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============================================================\ntrain.py FAILED\n"
      "------------------------------------------------------------\nFailures:\n[1]:\n  time      : 2026-04-22_07:55:19\n"
      "  host      : n02\n  rank      : 5 (local_rank: 1)\n  exitcode  : 1 (pid: 51121)\n  error_file: /tmp/error.json\n"
      "  traceback : Traceback (most recent call last):\n"
      "    File \"/opt/lib/torch/distributed/distributed_c10d.py\", line 2811, in barrier\n      work.wait()\n"
      "  RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 10000ms for recv operation to complete\n  \n"
      "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
      "  time      : 2026-04-22_07:55:18\n  host      : n02\n  rank      : 4 (local_rank: 0)\n  exitcode  : -9 (pid: 51120)\n"
      "  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 51120\n"
      "============================================================\n");
  ASSERT_EQ(digest.events.size(), 2u);
  EXPECT_EQ(digest.events[0].reports.size(), 2u);
  const Event& quoted = digest.events[1];
  EXPECT_EQ(IdOf(quoted), "gloo.op_timeout");
  EXPECT_EQ(quoted.prefix.rank, 5);
  EXPECT_EQ(quoted.prefix.host, "n02");
  EXPECT_EQ(FieldOf(quoted.fields, "call"), "barrier");
  EXPECT_TRUE(quoted.prefix.launcher);
  EXPECT_EQ(quoted.at.line, 15u);
}

TEST(SourceScanner, ARecordThatQuotesATracebackIsNone) {
  const SourceDigest digest = Scan(
      R"([rank3]: {"message": {"message": "KeyError: 'label'", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"a.py\"", "timestamp": "1770113472"}}})"
      "\n");
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_EQ(IdOf(digest.events[0]), "elastic.error_file");
}

TEST(SourceScanner, WarningsThatNoSignatureKnowsAreRemarks) {
  const SourceDigest digest = Scan(
      "2026-03-01 10:00:00,100 INFO [rank 1/2] step 1\n"
      "2026-03-01 10:00:00,200 WARNING [rank 1/2] shard 41 took 9.3 s\n"
      "2026-03-01 10:00:00,300 WARNING [rank 1/2] " + kOom + "\n");
  ASSERT_EQ(digest.remarks.size(), 1u);
  EXPECT_EQ(digest.remarks[0].rank, 1);
  EXPECT_EQ(digest.remarks[0].at.line, 2u);
  EXPECT_EQ(digest.remarks[0].shape, "shard # took #.# s");
}

TEST(SourceScanner, TerminateChainTakesItsInnerName) {
  const SourceDigest digest =
      Scan("terminate called after throwing an instance of 'c10::DistBackendError'\n"
           "  what():  [PG 2 Rank 3] Process group watchdog thread terminated with exception: CUDA error: an illegal memory "
           "access was encountered\n");
  ASSERT_EQ(digest.events.size(), 1u);
  EXPECT_EQ(IdOf(digest.events[0]), "cuda.illegal_address");
}

TEST(SourceScanner, ACancellingLineTakesTheEarlierOneBack) {
  const SourceDigest digest = Scan(
      "W0101 10:00:00.000000 77 rendezvous.cc:31] [id=3] This thread has been waiting for `init` for 20 seconds and may be "
      "stuck. Expected 4 threads to join the rendezvous, but not all of them arrived on time.\n"
      "W0101 10:00:05.000000 77 rendezvous.cc:36] [id=3] Thread is unstuck! Warning above was a false-positive. Perhaps the "
      "timeout is too short.\n");
  EXPECT_TRUE(digest.events.empty());
}

TEST(Line, Cleaning) {
  EXPECT_EQ(CleanLine("a\x1b[31mb\x1b[0mc"), "abc");
  EXPECT_EQ(CleanLine("old\rnew\r"), "new");
  EXPECT_EQ(CleanLine("a\x1b]0;title\a b"), "a b");
  EXPECT_EQ(CleanLine(std::string_view("a\0b", 3)), "ab");
  EXPECT_EQ(CleanLine("\x1b["), "");
}

TEST(Progress, FormsOfSteps) {
  EXPECT_EQ(ParseProgress("iter 82692: loss 1.6").step, 82692);
  EXPECT_EQ(ParseProgress(" iteration        2/     640 | consumed samples:").step, 2);
  EXPECT_EQ(ParseProgress("Epoch 3, batch 250, loss").step, 250);
  EXPECT_TRUE(ParseProgress("Map:  40%|####| 173440/421819 [13:20<17:25, 2317 examples/s]").bar);
  EXPECT_FALSE(ParseProgress("saving checkpoint").step);
  EXPECT_EQ(ParseProgress("lr 0.1 rank 4 RSS MEM USE: 4.98G").rank, 4);
  EXPECT_NEAR(*ParseProgress("rank 4 RSS MEM USE: 2G").memory_bytes, 2.0 * (1 << 30), 1);
}

TEST(Progress, SharesOfHostMemory) {
  EXPECT_NEAR(*ParseProgress("CPU Virtual Memory:  used = 489.90 GB, percent = 97.3%").memory_share, 0.973, 1e-9);
  EXPECT_NEAR(*ParseProgress("[watch] cgroup memory 372.6 / 384.0 GiB (97%) shm 13.8 GiB").memory_share, 0.97, 1e-9);
  EXPECT_NEAR(*ParseProgress("[watch] cgroup memory 2.0 / 4.0 GiB").memory_bytes, 2.0 * (1 << 30), 1);
  EXPECT_FALSE(ParseProgress("rss 12.0 GB, cpu 98%").memory_share);
  EXPECT_FALSE(ParseProgress("memory: 71.20GiB(90.02%)").memory_share);  // of the device
}

TEST(Progress, Sizes) {
  EXPECT_EQ(ParseSize("512"), 512);
  EXPECT_EQ(ParseSize("1 KiB"), 1024);
  EXPECT_EQ(ParseSize("2.5MB"), 2.5 * 1024 * 1024);
  EXPECT_FALSE(ParseSize("many"));
}

}  // namespace
}  // namespace firstfault
