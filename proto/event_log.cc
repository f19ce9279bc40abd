#include "proto/event_log.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "proto/fail_point.h"
#include "proto/page_carver.h"

namespace firstfault {
namespace {


constexpr const char* kCreate =
    "PRAGMA page_size=4096;"
    "PRAGMA journal_mode=WAL;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE batch(position INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL);"
    "CREATE TABLE about(trimmed INTEGER NOT NULL, id TEXT NOT NULL);"
    "INSERT INTO about VALUES(0, lower(hex(randomblob(16))));"
    "COMMIT;";
// The update proves that the file can be written to as well.
constexpr const char* kSettings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; UPDATE about SET trimmed=trimmed;";

// Level 1 packs log text to a fifth at several hundred MB/s; higher levels gain little on batches.
constexpr int kLevel = 1;

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : code_(sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr)) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void Bind(int index, uint64_t value) { sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(value)); }
  void Bind(int index, std::string_view blob) {
    sqlite3_bind_blob64(statement_, index, blob.data(), blob.size(), SQLITE_STATIC);
  }
  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step() { return code_ != SQLITE_OK ? code_ : sqlite3_step(statement_); }
  void Reset() { sqlite3_reset(statement_); }
  uint64_t Number(int column) { return static_cast<uint64_t>(sqlite3_column_int64(statement_, column)); }
  std::string_view Bytes(int column) {
    const void* bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int code_;
};

class Packer {
 public:
  Packer() : context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~Packer() { ZSTD_freeCCtx(context_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  std::string_view Pack(const v1::LoggedBatch& batch) {
    batch.SerializeToString(&plain_);
    packed_.resize(ZSTD_compressBound(plain_.size()));
    const size_t size = ZSTD_compress2(context_, packed_.data(), packed_.size(), plain_.data(), plain_.size());
    return ZSTD_isError(size) ? std::string_view() : std::string_view(packed_).substr(0, size);
  }

 private:
  ZSTD_CCtx* context_;
  std::string plain_, packed_;
};

// False where the row does not prove itself.
bool Unpack(uint64_t position, std::string_view packed, v1::LoggedBatch* batch) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > kLoggedBatchBytesMax) return false;  // unknown and error are huge numbers
  std::string plain(size, '\0');
  if (ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size()) != size) return false;
  return batch->ParseFromString(plain) && batch->position() == position;
}

uint64_t SizeOf(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void Remove(const std::string& path) {
  for (const char* ending : {"", "-wal", "-shm"}) unlink((path + ending).c_str());
}

std::string SetAsideName(const std::string& path) {
  std::string name = path + ".damaged";
  for (int i = 2; Exists(name); ++i) name = path + ".damaged" + std::to_string(i);
  return name;
}

// A rebuilt file is built under one name and whole under another: whenever this is cut short, the next Open()
// finds all rows.
std::string BuildingName(const std::string& path) { return path + ".building"; }
std::string RebuiltName(const std::string& path) { return path + ".rebuilt"; }

absl::Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return absl::UnavailableError(from + ": " + std::strerror(errno));
}

absl::Status TakeRebuilt(const std::string& path) {
  Remove(path);
  return Rename(RebuiltName(path), path);
}

// The last position that the committed pages of the files prove.
uint64_t LastCarved(const std::string& path) {
  uint64_t last = 0;
  v1::LoggedBatch batch;
  CarveRows(path, [&](uint64_t key, std::string_view bytes) {
    if (key > last && Unpack(key, bytes, &batch)) last = key;
  });
  return last;
}

}  // namespace

void EventLog::Close::operator()(sqlite3* database) const { sqlite3_close(database); }
EventLog::~EventLog() = default;

absl::StatusOr<std::unique_ptr<EventLog>> EventLog::Open(const std::string& path) {
  if (Exists(RebuiltName(path))) {
    if (auto status = TakeRebuilt(path); !status.ok()) return status;
  }
  std::unique_ptr<EventLog> log(new EventLog(path));
  const bool fresh = SizeOf(path) == 0 && SizeOf(path + "-wal") == 0;
  // SQLite passes in silence over what follows a damaged frame of its write-ahead log.
  const uint64_t last = SizeOf(path + "-wal") > 0 ? LastCarved(path) : 0;
  absl::Status status = log->Connect();
  if (status.ok() && fresh) status = log->Run(kCreate);
  if (status.ok()) status = log->Load();
  if (status.ok() && log->next_ <= last) status = absl::OutOfRangeError("rows are missing");
  if (status.ok()) status = log->Settle();
  if (status.ok()) return log;
  if (fresh || absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) return status;

  const auto trimmed = log->trimmed_known_ ? std::optional(log->trimmed_) : std::nullopt;
  log.reset();
  status = Rebuild(path, trimmed);
  if (!status.ok()) return status;
  log = std::unique_ptr<EventLog>(new EventLog(path));
  status = log->Connect();
  if (status.ok()) status = log->Load();
  if (status.ok()) status = log->Settle();
  if (!status.ok()) return status;
  return log;
}

absl::Status EventLog::Connect() {
  sqlite3* database = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path_.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) return Failure(code);
  // Until the rows are found to be whole nothing is written, not even at the end: it could hide more of them.
  sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return absl::OkStatus();
}

absl::Status EventLog::Settle() {
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  return Run(kSettings);
}

absl::Status EventLog::Load() {
  last_.clear();
  lost_ = bytes_ = 0;
  Statement about(database_.get(), "SELECT trimmed, id FROM about");
  if (const int code = about.Step(); code != SQLITE_ROW) return Failure(code);
  trimmed_ = about.Number(0);
  trimmed_known_ = true;
  id_ = about.Bytes(1);
  // Also what rows alone do not show: lists of free pages, sizes, what a later append would stumble over.
  Statement check(database_.get(), "PRAGMA quick_check(1)");
  if (const int code = check.Step(); code != SQLITE_ROW) return Failure(code);
  if (check.Bytes(0) != "ok") return absl::DataLossError(path_ + ": " + std::string(check.Bytes(0)));
  uint64_t end = trimmed_;
  Statement given(database_.get(), "SELECT seq FROM sqlite_sequence WHERE name='batch'");
  if (const int code = given.Step(); code == SQLITE_ROW) {
    end = std::max(end, given.Number(0));
  } else if (code != SQLITE_DONE) {
    return Failure(code);
  }
  uint64_t expected = trimmed_ + 1;
  Statement rows(database_.get(), "SELECT position, data FROM batch ORDER BY position");
  v1::LoggedBatch batch;
  int code;
  while ((code = rows.Step()) == SQLITE_ROW) {
    if (rows.Number(0) != expected) return absl::OutOfRangeError("rows are missing");
    ++expected;
    bytes_ += rows.Bytes(1).size();
    if (Unpack(rows.Number(0), rows.Bytes(1), &batch)) {
      uint64_t& last = last_[batch.spool_id()];
      last = std::max(last, batch.batch().sequence());
    } else {
      ++lost_;
    }
  }
  if (code != SQLITE_DONE) return Failure(code);
  if (expected <= end) return absl::OutOfRangeError("rows are missing");
  next_ = expected;
  return absl::OkStatus();
}

absl::Status EventLog::Rebuild(const std::string& path, std::optional<uint64_t> trimmed) {
  const std::string building = BuildingName(path);
  Remove(building);
  {
    EventLog log(building);
    absl::Status status = log.Connect();
    if (status.ok()) status = log.Run(kCreate);
    if (status.ok()) status = log.CopyRows(path, trimmed);
    if (status.ok()) status = log.Run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
    if (!status.ok()) return status;
  }
  FailPoint("rebuild.built");
  const std::string aside = SetAsideName(path);
  for (const char* ending : {"", "-wal"}) {
    if (Exists(path + ending) && link((path + ending).c_str(), (aside + ending).c_str()) != 0) {
      return absl::UnavailableError(aside + ": " + std::strerror(errno));
    }
  }
  if (auto status = Rename(building, RebuiltName(path)); !status.ok()) return status;
  FailPoint("rebuild.named");
  return TakeRebuilt(path);
}

absl::Status EventLog::CopyRows(const std::string& damaged, std::optional<uint64_t> trimmed) {
  std::map<uint64_t, bool> proven;  // position, copied
  v1::LoggedBatch batch;
  CarveRows(damaged, [&](uint64_t key, std::string_view bytes) {
    if (Unpack(key, bytes, &batch)) proven[key] = false;
  });
  if (proven.empty()) return absl::OkStatus();
  if (auto status = Run("BEGIN IMMEDIATE"); !status.ok()) return status;
  absl::Status status;
  Statement insert(database_.get(), "INSERT INTO batch VALUES(?1, ?2)");
  const auto put = [&](uint64_t position, std::string_view data) {
    if (!status.ok()) return;
    insert.Reset();
    insert.Bind(1, position);
    insert.Bind(2, data);
    if (const int code = insert.Step(); code != SQLITE_DONE) status = Failure(code);
  };
  // A second pass, so that one row at a time is in memory. A row may stand in two pages: the same row.
  CarveRows(damaged, [&](uint64_t key, std::string_view bytes) {
    const auto it = proven.find(key);
    if (it == proven.end() || it->second || !Unpack(key, bytes, &batch)) return;
    it->second = true;
    put(key, bytes);
  });
  uint64_t expected = proven.begin()->first;
  if (trimmed) expected = std::min(expected, *trimmed + 1);
  Statement about(database_.get(), "UPDATE about SET trimmed=?1");
  about.Bind(1, expected - 1);
  if (const int code = about.Step(); code != SQLITE_DONE) status = Failure(code);
  about.Reset();
  for (const auto& [position, copied] : proven) {
    for (; expected < position; ++expected) put(expected, std::string_view("", 0));  // lost
    ++expected;
  }
  insert.Reset();
  // Not committed is not there: the caller closes the file and a later Open() begins anew.
  return status.ok() ? Run("COMMIT") : status;
}

absl::StatusOr<uint64_t> EventLog::Append(std::span<v1::LoggedBatch> batches) {
  std::map<std::string, uint64_t> last;
  for (const v1::LoggedBatch& batch : batches) {
    const auto [it, fresh] = last.try_emplace(batch.spool_id(), LastSequence(batch.spool_id()));
    if (batch.batch().sequence() <= it->second) {
      return absl::AlreadyExistsError("batch " + std::to_string(batch.batch().sequence()) + " of spool " + batch.spool_id());
    }
    it->second = batch.batch().sequence();
    if (batch.ByteSizeLong() > kLoggedBatchBytesMax - 16) return absl::InvalidArgumentError("a batch is too large");
  }
  if (auto status = Run("BEGIN IMMEDIATE"); !status.ok()) return status;
  Packer packer;
  Statement insert(database_.get(), "INSERT INTO batch VALUES(?1, ?2)");
  absl::Status status;
  uint64_t position = next_, bytes = 0;
  for (v1::LoggedBatch& batch : batches) {
    batch.set_position(position);
    const std::string_view packed = packer.Pack(batch);
    insert.Reset();
    insert.Bind(1, position);
    insert.Bind(2, packed);
    if (const int code = insert.Step(); code != SQLITE_DONE) {
      status = Failure(code);
      break;
    }
    bytes += packed.size();
    ++position;
  }
  insert.Reset();
  FailPoint("append.begin");
  if (status.ok()) status = Run("COMMIT");
  FailPoint("append.end");
  if (!status.ok()) {
    // Some errors have rolled back already.
    if (sqlite3_get_autocommit(database_.get()) == 0) Run("ROLLBACK").IgnoreError();
    return status;
  }
  next_ = position;
  bytes_ += bytes;
  for (const auto& [spool, sequence] : last) last_[spool] = sequence;
  return next_ - 1;
}

absl::Status EventLog::Read(uint64_t from, const std::function<bool(const v1::LoggedBatch&)>& visit) {
  Statement rows(database_.get(), "SELECT position, data FROM batch WHERE position >= ?1 ORDER BY position");
  rows.Bind(1, from);
  v1::LoggedBatch batch;
  int code;
  while ((code = rows.Step()) == SQLITE_ROW) {
    if (Unpack(rows.Number(0), rows.Bytes(1), &batch) && !visit(batch)) return absl::OkStatus();
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Failure(code);
}

absl::Status EventLog::Trim(uint64_t position) {
  position = std::min(position, next_ - 1);
  if (position <= trimmed_) return absl::OkStatus();
  Statement sizes(database_.get(), "SELECT coalesce(sum(length(data)), 0) FROM batch WHERE position <= ?1");
  sizes.Bind(1, position);
  if (const int code = sizes.Step(); code != SQLITE_ROW) return Failure(code);
  const uint64_t bytes = sizes.Number(0);
  sizes.Reset();
  FailPoint("trim.begin");
  const std::string number = std::to_string(position);
  const std::string sql = "BEGIN IMMEDIATE; DELETE FROM batch WHERE position <= " + number + "; UPDATE about SET trimmed=" + number + "; COMMIT;";
  if (auto status = Run(sql.c_str()); !status.ok()) {
    if (sqlite3_get_autocommit(database_.get()) == 0) Run("ROLLBACK").IgnoreError();
    return status;
  }
  FailPoint("trim.end");
  trimmed_ = position;
  bytes_ -= bytes;
  return absl::OkStatus();
}

uint64_t EventLog::LastSequence(const std::string& spool_id) const {
  const auto it = last_.find(spool_id);
  return it == last_.end() ? 0 : it->second;
}

absl::Status EventLog::Run(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Failure(code);
}

absl::Status EventLog::Failure(int code) const {
  const std::string message = path_ + ": " + (database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_BUSY:
    case SQLITE_PERM:
      return absl::UnavailableError(message);
    default:
      return absl::DataLossError(message);
  }
}

}  // namespace firstfault
