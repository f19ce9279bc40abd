#include "coordinator/journal_decode.h"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "coordinator/record_decoder.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

constexpr size_t kNone = std::string_view::npos;

struct Entry {
  std::string realtime_us, monotonic_us, source_monotonic_us, boot_id, host, identifier, command, pid,
      transport;
  std::optional<std::string> message;
};

struct FieldRow {
  std::string_view name;
  std::string Entry::*value;
};

constexpr FieldRow kFields[] = {
    {"__REALTIME_TIMESTAMP", &Entry::realtime_us},
    {"__MONOTONIC_TIMESTAMP", &Entry::monotonic_us},
    {"_SOURCE_MONOTONIC_TIMESTAMP", &Entry::source_monotonic_us},
    {"_BOOT_ID", &Entry::boot_id},
    {"_HOSTNAME", &Entry::host},
    {"SYSLOG_IDENTIFIER", &Entry::identifier},
    {"_COMM", &Entry::command},
    {"_PID", &Entry::pid},
    {"_TRANSPORT", &Entry::transport},
};

bool IsWanted(std::string_view name) {
  return name == "MESSAGE" || std::any_of(std::begin(kFields), std::end(kFields),
                                          [&](const FieldRow& row) { return row.name == name; });
}

void SetField(std::string_view name, std::string_view value, Entry* entry) {
  if (name == "MESSAGE") entry->message = value;
  for (const FieldRow& row : kFields) {
    if (row.name == name) entry->*row.value = value;
  }
}

// "2026-01-02T03:04:05.678901Z"
std::string Iso(int64_t unix_us) {
  namespace chr = std::chrono;
  const chr::sys_time<chr::microseconds> time{chr::microseconds(unix_us)};
  const auto day = chr::floor<chr::days>(time);
  const chr::year_month_day date(day);
  const chr::hh_mm_ss<chr::microseconds> clock(time - day);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

// A name that is one word of a line prefix; "-" where the journal has none.
std::string Word(std::string text) {
  if (text.empty()) return "-";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t' || c == '\n'; }, '_');
  return text;
}

class EntryWriter {
 public:
  bool Write(const Entry& entry, std::string* out) {
    // Beyond the year 9999 the number is no time in microseconds.
    constexpr uint64_t kUnixUsMax = 253'402'300'799'999'999;
    const std::optional<uint64_t> realtime = ParseNumber<uint64_t>(entry.realtime_us);
    if (!realtime || *realtime > kUnixUsMax || !entry.message) return false;
    if (!boot_id_.empty() && !entry.boot_id.empty() && boot_id_ != entry.boot_id) {
      out->append(Cat("-- Boot ", Word(entry.boot_id), " --\n"));
    }
    if (!entry.boot_id.empty()) boot_id_ = entry.boot_id;
    const bool kernel = entry.transport == "kernel" || entry.identifier == "kernel";
    std::string prefix = Cat(Iso(static_cast<int64_t>(*realtime)), " ", Word(entry.host), " ");
    prefix += kernel ? "kernel" : Word(entry.identifier.empty() ? entry.command : entry.identifier);
    if (!entry.pid.empty()) prefix += Cat("[", Word(entry.pid), "]");
    prefix += ": ";
    if (kernel) prefix += Bracket(entry);
    AppendLines(prefix, *entry.message, out);
    return true;
  }

 private:
  static std::string Bracket(const Entry& entry) {
    const std::string& text =
        entry.source_monotonic_us.empty() ? entry.monotonic_us : entry.source_monotonic_us;
    const std::optional<uint64_t> us = ParseNumber<uint64_t>(text);
    if (!us) return "";
    char bracket[48];
    std::snprintf(bracket, sizeof(bracket), "[%5llu.%06llu] ",
                  static_cast<unsigned long long>(*us / 1'000'000),
                  static_cast<unsigned long long>(*us % 1'000'000));
    return bracket;
  }

  std::string boot_id_;
};

// A string, or an array of bytes where the value is not UTF-8.
bool AppendOne(const simdjson::dom::element& element, std::string* out) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    out->append(text);
    return true;
  }
  simdjson::dom::array bytes;
  if (element.get(bytes) != simdjson::SUCCESS) return false;
  for (const simdjson::dom::element item : bytes) {
    uint64_t byte = 0;
    if (item.get(byte) != simdjson::SUCCESS || byte > 0xff) return false;
    out->push_back(static_cast<char>(byte));
  }
  return true;
}

// nullopt: null, which journalctl prints for a value beyond 4 KiB unless asked with --all.
std::optional<std::string> ValueOf(const simdjson::dom::element& element) {
  std::string value;
  if (AppendOne(element, &value)) return value;
  value.clear();
  simdjson::dom::array repeated;  // a field that occurs several times in its entry
  if (element.get(repeated) != simdjson::SUCCESS) return std::nullopt;
  for (const simdjson::dom::element item : repeated) {
    if (!value.empty()) value.push_back('\n');
    if (!AppendOne(item, &value)) return std::nullopt;
  }
  return value;
}

class JournalJsonDecoder : public LineDecoder {
 protected:
  bool Decode(std::string_view line, std::string* out) override {
    if (line.starts_with('\x1e')) line.remove_prefix(1);  // -o json-seq
    simdjson::dom::object object;
    if (parser_.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return false;
    Entry entry;
    for (const simdjson::dom::key_value_pair field : object) {
      if (!IsWanted(field.key)) continue;
      if (const auto value = ValueOf(field.value)) SetField(field.key, *value, &entry);
    }
    return writer_.Write(entry, out);
  }

 private:
  simdjson::dom::parser parser_;
  EntryWriter writer_;
};

struct ExportField {
  std::string_view name, value;
  size_t size = 0;  // in the stream, line end included
};

// The field that `bytes` begins with; false if it does not end in them. A line that is no field has an
// empty name.
bool FirstExportField(std::string_view bytes, ExportField* field) {
  const size_t end = bytes.find('\n');
  if (end == kNone) return false;
  const std::string_view line = bytes.substr(0, end);
  const size_t equals = line.find('=');
  if (equals != kNone) {
    *field = {line.substr(0, equals), line.substr(equals + 1), end + 1};
    return true;
  }
  *field = {{}, line, end + 1};
  if (line.empty() || line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != kNone) return true;
  // A binary value: 8 bytes of size, low byte first, the value, a line end.
  const std::string_view rest = bytes.substr(end + 1);
  if (rest.size() < 8) return false;
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(rest[i]);
  if (size > kRecordBytesMax) return true;  // a word on a line of its own
  if (rest.size() < 8 + size + 1) return false;
  *field = {line, rest.substr(8, size), end + 1 + 8 + size + 1};
  return true;
}

class JournalExportDecoder : public RecordDecoder {
 protected:
  size_t RecordSize(std::string_view bytes, size_t* resume) override {
    ExportField field;
    while (FirstExportField(bytes.substr(*resume), &field)) {
      *resume += field.size;
      if (field.size == 1) return *resume;  // an empty line ends the entry
    }
    return kNone;
  }

  bool Decode(std::string_view record, std::string* out) override {
    if (record == "\n") return true;
    Entry entry;
    ExportField field;
    while (FirstExportField(record, &field)) {
      SetField(field.name, field.value, &entry);
      record.remove_prefix(field.size);
    }
    return writer_.Write(entry, out);
  }

 private:
  EntryWriter writer_;
};

}  // namespace

bool IsJournalJsonLine(std::string_view line) {
  if (line.starts_with('\x1e')) line.remove_prefix(1);
  return line.starts_with('{') && line.find("\"__REALTIME_TIMESTAMP\"") != kNone;
}

bool IsJournalExportLine(std::string_view line) {
  return line.starts_with("__CURSOR=") || line.starts_with("__REALTIME_TIMESTAMP=");
}

std::unique_ptr<Decoder> NewJournalJsonDecoder() { return std::make_unique<JournalJsonDecoder>(); }
std::unique_ptr<Decoder> NewJournalExportDecoder() { return std::make_unique<JournalExportDecoder>(); }

}  // namespace firstfault
