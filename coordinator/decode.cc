#include "coordinator/decode.h"

#include <absl/time/time.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "coordinator/journal_decode.h"
#include "coordinator/record_decoder.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Docker cuts long lines at 16 KiB; the last piece has the line end.
class DockerDecoder : public LineDecoder {
 protected:
  bool Decode(std::string_view line, std::string* out) override {
    simdjson::dom::element record;
    std::string_view log, stream, time;
    if (parser_.parse(line.data(), line.size()).get(record) != simdjson::SUCCESS ||
        record["log"].get(log) != simdjson::SUCCESS || record["stream"].get(stream) != simdjson::SUCCESS ||
        record["time"].get(time) != simdjson::SUCCESS) {
      return false;
    }
    Held& held = held_[stream == "stderr" ? 1 : 0];
    if (held.text.empty()) held.prefix = Cat(time, " ", stream, " ");
    held.text += log;
    if (log.ends_with('\n')) {
      Emit(&held, "F ", out);
    } else if (held.text.size() >= kRecordBytesMax) {
      Emit(&held, "P ", out);
    }
    return true;
  }

  void FlushHeld(std::string* out) override {
    for (Held& held : held_) {
      if (!held.text.empty()) Emit(&held, "F ", out);
    }
  }

 private:
  struct Held {
    std::string prefix, text;
  };

  static void Emit(Held* held, std::string_view tag, std::string* out) {
    AppendLines(Cat(held->prefix, tag), held->text, out);
    held->text.clear();
  }

  std::array<Held, 2> held_;  // stdout, stderr
  simdjson::dom::parser parser_;
};

// CRI files: `TIME stream P text` goes on in the next record of its stream, up to the one marked F. Whole
// lines pass through byte for byte.
class CriDecoder : public LineDecoder {
 protected:
  bool Decode(std::string_view line, std::string* out) override {
    const Record record = Parse(line);
    if (record.tag == 0) return false;
    Held& held = held_[record.stream == "stderr" ? 1 : 0];
    if (held.text.empty()) held.prefix = std::string(record.prefix);
    if (record.tag == 'F' && held.text.empty()) {
      AppendLines(Cat(record.prefix, "F "), record.text, out);
      return true;
    }
    held.text += record.text;
    if (record.tag == 'F' || held.text.size() >= kRecordBytesMax) Emit(&held, out);
    return true;
  }

  void FlushHeld(std::string* out) override {
    for (Held& held : held_) {
      if (!held.text.empty()) Emit(&held, out);
    }
  }

 public:
  struct Record {
    char tag = 0;  // F, P, or 0: no record of this form
    std::string_view prefix, stream, text;  // prefix: time, stream and the blank behind them
  };
  static Record Parse(std::string_view line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    Record record;
    const size_t time = line.find(' ');
    const size_t stream = time == kNone ? kNone : line.find(' ', time + 1);
    if (stream == kNone || stream + 2 > line.size() || time < 20 || line[4] != '-' || line[10] != 'T') return record;
    record.stream = line.substr(time + 1, stream - time - 1);
    const char tag = line[stream + 1];
    const bool ends = stream + 2 == line.size() || line[stream + 2] == ' ';
    if ((record.stream != "stdout" && record.stream != "stderr") || (tag != 'F' && tag != 'P') || !ends) return record;
    record.tag = tag;
    record.prefix = line.substr(0, stream + 1);
    record.text = line.substr(std::min(stream + 3, line.size()));
    return record;
  }

 private:
  struct Held {
    std::string prefix, text;
  };
  static void Emit(Held* held, std::string* out) {
    AppendLines(Cat(held->prefix, "F "), held->text, out);
    held->text.clear();
  }
  std::array<Held, 2> held_;  // stdout, stderr
};

// {"dmesg": [ {"pri": 4, "time": 12.345678, "msg": "..."}, ... ]}, indented over many lines. The objects
// hold no objects, so each ends at the first brace outside a string.
class DmesgDecoder : public RecordDecoder {
 protected:
  size_t RecordSize(std::string_view bytes, size_t* resume) override {
    if (*resume == 0) in_string_ = escaped_ = false;
    for (; *resume < bytes.size(); ++*resume) {
      const char c = bytes[*resume];
      if (escaped_) {
        escaped_ = false;
      } else if (in_string_) {
        escaped_ = c == '\\';
        in_string_ = c != '"';
      } else if (c == '}') {
        return *resume + 1;
      } else {
        in_string_ = c == '"';
      }
    }
    return kNone;
  }

  bool Decode(std::string_view record, std::string* out) override {
    if (record.find_first_not_of(" \t\r\n]},") == kNone) return true;  // closes the list
    // After the list's own opening, and after the comma between objects.
    const size_t list = record.find("\"dmesg\"");
    const size_t start = record.find('{', list == kNone ? 0 : list);
    if (start == kNone) return false;
    record.remove_prefix(start);
    simdjson::dom::element object;
    std::string_view message;
    if (parser_.parse(record.data(), record.size()).get(object) != simdjson::SUCCESS ||
        object["msg"].get(message) != simdjson::SUCCESS) {
      return false;
    }
    AppendLines(Stamp(object), message, out);
    return true;
  }

 private:
  // Seconds since boot; a text where dmesg was asked for another time format; none with --notime.
  static std::string Stamp(const simdjson::dom::element& object) {
    double seconds = 0;
    std::string_view text;
    if (object["time"].get(seconds) == simdjson::SUCCESS && seconds >= 0 && seconds < 1e12) {
      const long long us = std::llround(seconds * 1e6);
      char stamp[48];
      std::snprintf(stamp, sizeof(stamp), "[%5lld.%06lld] ", us / 1'000'000, us % 1'000'000);
      return stamp;
    }
    return object["time"].get(text) == simdjson::SUCCESS ? Cat("[", text, "] ") : "";
  }

  bool in_string_ = false, escaped_ = false;
  simdjson::dom::parser parser_;
};

template <typename T>
std::unique_ptr<Decoder> New() {
  return std::make_unique<T>();
}

bool IsDockerLine(std::string_view line) {
  return line.starts_with("{\"log\":\"") && line.find("\"stream\":\"") != kNone &&
         line.find("\"time\":\"") != kNone;
}

bool IsCriLine(std::string_view line) { return CriDecoder::Parse(line).tag != 0; }

// torchrun's error.json: one object with the exception of a worker, its traceback and the second it was written.
// Every line gets that second as its stamp.
class ErrorFileDecoder : public LineDecoder {
 protected:
  bool Decode(std::string_view line, std::string* out) override {
    simdjson::dom::element record, extra;
    std::string_view traceback, second;
    if (parser_.parse(line.data(), line.size()).get(record) != simdjson::SUCCESS ||
        record["message"]["extraInfo"].get(extra) != simdjson::SUCCESS ||
        extra["py_callstack"].get(traceback) != simdjson::SUCCESS ||
        extra["timestamp"].get(second) != simdjson::SUCCESS) {
      return false;
    }
    const auto unix_second = ParseNumber<int64_t>(second);
    if (!unix_second) return false;
    AppendLines(Cat(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(*unix_second), absl::UTCTimeZone()), " "),
                traceback, out);
    return true;
  }

 private:
  simdjson::dom::parser parser_;
};

bool IsErrorFileLine(std::string_view line) {
  return line.starts_with("{\"message\": {\"message\": ") && line.find("\"py_callstack\": ") != kNone;
}

struct FormRow {
  bool (*is_line)(std::string_view line);
  std::unique_ptr<Decoder> (*make)();
};

constexpr FormRow kForms[] = {
    {IsJournalJsonLine, NewJournalJsonDecoder},
    {IsJournalExportLine, NewJournalExportDecoder},
    {IsDockerLine, New<DockerDecoder>},
    {IsCriLine, New<CriDecoder>},
    {IsErrorFileLine, New<ErrorFileDecoder>},
};

// A rotated file may begin in the middle of a record.
constexpr int kLinesTried = 8;

bool IsDmesgJson(std::string_view head) {
  std::string squeezed;  // {"dmesg":[
  for (const char c : head.substr(0, 64)) {
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') squeezed.push_back(c);
  }
  return squeezed.starts_with("{\"dmesg\":[");
}

}  // namespace

std::unique_ptr<Decoder> DecoderFor(std::string_view head) {
  if (IsDmesgJson(head)) return New<DmesgDecoder>();
  for (int i = 0; i < kLinesTried && !head.empty(); ++i) {
    const size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, end);
    for (const FormRow& row : kForms) {
      if (row.is_line(line)) return row.make();
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return nullptr;
}

}  // namespace firstfault
