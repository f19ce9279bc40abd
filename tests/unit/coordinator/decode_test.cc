#include "coordinator/decode.h"

#include <gtest/gtest.h>

#include "correlate/text.h"

namespace firstfault {
namespace {

// What a decoder makes of `text`, fed `cut` bytes at a time; "(plain)" where it is left alone.
std::string Decoded(std::string_view text, size_t cut, int64_t* passed_on = nullptr) {
  const std::unique_ptr<Decoder> decoder = DecoderFor(text.substr(0, 64 << 10));
  if (!decoder) return "(plain)";
  std::string out;
  for (size_t i = 0; i < text.size(); i += cut) decoder->Feed(text.substr(i, cut), &out);
  decoder->Flush(&out);
  if (passed_on != nullptr) *passed_on = decoder->passed_on();
  return out;
}

struct Sample {
  const char* what;
  std::string input, output;
  int64_t passed_on = 0;
};

std::string WithSize(uint64_t size) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(size >> (8 * i) & 0xff));
  return bytes;
}

std::vector<Sample> Samples() {
  return {
      {"partial CRI records are one line, each stream for itself",
       "2026-01-02T03:04:05.123456789Z stderr P part\n2026-01-02T03:04:05.123456800Z stdout F other\n"
       "2026-01-02T03:04:05.123456900Z stderr F rest\n2026-01-02T03:04:06.000000000Z stdout F \n",
       "2026-01-02T03:04:05.123456800Z stdout F other\n2026-01-02T03:04:05.123456789Z stderr F partrest\n"
       "2026-01-02T03:04:06.000000000Z stdout F \n"},
      {"a kernel message keeps both clocks",
       R"({"__REALTIME_TIMESTAMP":"1767323045678901","__MONOTONIC_TIMESTAMP":"86400000100",)"
       R"("_SOURCE_MONOTONIC_TIMESTAMP":"86399999123","_BOOT_ID":"b1","_TRANSPORT":"kernel","PRIORITY":"3",)"
       R"("_HOSTNAME":"n07","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid (PCI:0000:41:00): 79"})"
       "\n",
       "2026-01-02T03:04:05.678901Z n07 kernel: [86399.999123] NVRM: Xid (PCI:0000:41:00): 79\n"},
      {"a service, a message in bytes, several lines, a new boot",
       R"({"__REALTIME_TIMESTAMP":"1767323045000000","_BOOT_ID":"b1","_HOSTNAME":"n07",)"
       R"("SYSLOG_IDENTIFIER":"slurmd","_PID":"812","MESSAGE":[111,195,40,107]})"
       "\n"
       R"({"__REALTIME_TIMESTAMP":"1767323046000000","_BOOT_ID":"b2","_HOSTNAME":"n07",)"
       R"("_COMM":"my app","MESSAGE":"one\ntwo"})"
       "\n",
       "2026-01-02T03:04:05.000000Z n07 slurmd[812]: o\xc3(k\n"
       "-- Boot b2 --\n"
       "2026-01-02T03:04:06.000000Z n07 my_app: one\n"
       "2026-01-02T03:04:06.000000Z n07 my_app: two\n"},
      {"torchrun's error file is the traceback in it",
       R"({"message": {"message": "ValueError: bad", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: bad\n", "timestamp": "1767323045"}}})",
       "2026-01-02T03:04:05Z Traceback (most recent call last):\n2026-01-02T03:04:05Z   File \"a.py\", line 1, in f\n"
       "2026-01-02T03:04:05Z ValueError: bad\n"},
      {"records that do not parse are passed on",
       R"({"__REALTIME_TIMESTAMP":"1767323045000000","_HOSTNAME":"h","SYSLOG_IDENTIFIER":"x","MESSAGE":"a"})"
       "\n{\"__REALTIME_TIMESTAMP\":\"17673\n"
       R"({"__REALTIME_TIMESTAMP":"1767323045000000","MESSAGE":null})"
       "\nplain text",
       "2026-01-02T03:04:05.000000Z h x: a\n{\"__REALTIME_TIMESTAMP\":\"17673\n"
       R"({"__REALTIME_TIMESTAMP":"1767323045000000","MESSAGE":null})"
       "\nplain text\n",
       3},
      {"journal export, with a binary field",
       "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1767323045678901\n_TRANSPORT=kernel\n_HOSTNAME=n07\n"
       "_SOURCE_MONOTONIC_TIMESTAMP=12345678\nMESSAGE=mlx5_core: link=down\n\n"
       "__CURSOR=s=1;i=3\n__REALTIME_TIMESTAMP=1767323046000000\n_HOSTNAME=n07\nSYSLOG_IDENTIFIER=app\n"
       "MESSAGE\n" +
           WithSize(7) + "one\n\ntw\n\n",
       "2026-01-02T03:04:05.678901Z n07 kernel: [   12.345678] mlx5_core: link=down\n"
       "2026-01-02T03:04:06.000000Z n07 app: one\n"
       "2026-01-02T03:04:06.000000Z n07 app: \n"
       "2026-01-02T03:04:06.000000Z n07 app: tw\n"},
      {"journal export, a word that is told from a binary field only by what follows the entry",
       "__REALTIME_TIMESTAMP=1767323045000000\n_HOSTNAME=n07\nSYSLOG_IDENTIFIER=app\nMESSAGE=a\nWORD\n\n"
       "__REALTIME_TIMESTAMP=1767323046000000\n_HOSTNAME=n07\nSYSLOG_IDENTIFIER=app\nMESSAGE=b\n\n",
       "2026-01-02T03:04:05.000000Z n07 app: a\n2026-01-02T03:04:06.000000Z n07 app: b\n"},
      {"Docker joins what it cut, each stream by itself",
       R"({"log":"Traceback (most recent","stream":"stderr","time":"2026-01-02T03:04:05.1Z"})"
       "\n"
       R"({"log":"step 7\n","stream":"stdout","time":"2026-01-02T03:04:05.2Z"})"
       "\n"
       R"({"log":" call last):\n","stream":"stderr","time":"2026-01-02T03:04:05.3Z"})"
       "\n"
       R"({"log":"no line end","stream":"stdout","time":"2026-01-02T03:04:06Z"})",
       "2026-01-02T03:04:05.2Z stdout F step 7\n"
       "2026-01-02T03:04:05.1Z stderr F Traceback (most recent call last):\n"
       "2026-01-02T03:04:06Z stdout F no line end\n"},
      {"a Docker log that begins in the middle of a record",
       "t\",\"stream\":\"stderr\",\"time\":\"x\"}\n"
       R"({"log":"a\n","stream":"stderr","time":"2026-01-02T03:04:05Z"})"
       "\n",
       "t\",\"stream\":\"stderr\",\"time\":\"x\"}\n2026-01-02T03:04:05Z stderr F a\n", 1},
      {"dmesg -J",
       "{\n   \"dmesg\": [\n      {\n         \"pri\": 5,\n         \"time\":     0.000000,\n"
       "         \"msg\": \"Linux version 6.1\"\n      },{\n         \"pri\": 3,\n         \"time\": "
       "12345.678901,\n"
       "         \"msg\": \"braces { } and \\\"quotes\\\"\"\n      }\n   ]\n}\n",
       "[    0.000000] Linux version 6.1\n[12345.678901] braces { } and \"quotes\"\n"},
      {"dmesg -J, cut off", "{\"dmesg\": [{\"pri\":3,\"time\":1.5,\"msg\":\"a\"},{\"pri\":3,\"ti",
       "[    1.500000] a\n,{\"pri\":3,\"ti\n", 1},
      {"an application's own JSON lines stay", "{\"level\":\"error\",\"msg\":\"CUDA out of memory\"}\n",
       "(plain)"},
      {"text stays", "step 1\nstep 2\n", "(plain)"},
  };
}

TEST(Decode, RecordsBecomeLines) {
  for (const Sample& sample : Samples()) {
    int64_t passed_on = 0;
    EXPECT_EQ(Decoded(sample.input, sample.input.size(), &passed_on), sample.output) << sample.what;
    EXPECT_EQ(passed_on, sample.output == "(plain)" ? 0 : sample.passed_on) << sample.what;
  }
}

TEST(Decode, CutsDoNotChangeTheText) {
  for (const Sample& sample : Samples()) {
    for (const size_t cut : {1, 2, 3, 7, 64})
      EXPECT_EQ(Decoded(sample.input, cut), sample.output) << sample.what;
  }
}

TEST(Decode, AnEndlessRecordIsPassedOnWithoutBeingHeld) {
  const std::string good = "{\"log\":\"a\\n\",\"stream\":\"stdout\",\"time\":\"T\"}\n";
  const std::string endless = "{\"log\":\"" + std::string(3 << 20, 'x') + "\n";
  const std::string input = good + endless + good;
  for (const size_t cut : {size_t{1} << 10, size_t{256} << 10, input.size()}) {
    int64_t passed_on = 0;
    EXPECT_TRUE(Decoded(input, cut, &passed_on) == "T stdout F a\n" + endless + "T stdout F a\n") << cut;
    EXPECT_EQ(passed_on, 1);
  }
}

TEST(Decode, APartialDockerLineIsGivenOutInPieces) {
  std::string input;
  for (int i = 0; i < 80; ++i) {
    input += "{\"log\":\"" + std::string(16 << 10, 'y') + "\",\"stream\":\"stdout\",\"time\":\"T\"}\n";
  }
  const std::string text = Decoded(input, 4096);
  EXPECT_TRUE(text.starts_with("T stdout P yyy"));
  EXPECT_EQ(text.size(), 80 * (16 << 10) + 2 * std::string_view("T stdout P \n").size());
}

TEST(Decode, AFlushEndsWhatWasHeldBack) {
  const std::string_view line = "{\"log\":\"a\",\"stream\":\"stdout\",\"time\":\"T\"}\n";
  const auto decoder = DecoderFor(line);
  std::string out;
  decoder->Feed(line, &out);
  EXPECT_EQ(out, "");
  decoder->Flush(&out);
  decoder->Feed(line, &out);
  decoder->Flush(&out);
  EXPECT_EQ(out, "T stdout F a\nT stdout F a\n");
}

}  // namespace
}  // namespace firstfault
