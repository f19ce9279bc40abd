// page_carver.h: the rows in the pages of a damaged SQLite file.
//
// Why:     one wrong byte in a header or an inner page hides thousands of good rows from SQLite.
// Model:   every page that reads as a table's leaf is taken apart, in the file and in the committed frames of
//          its write-ahead log, whatever the pages above it say. Format: sqlite.org/fileformat2.html.
// Errors:  none: what does not read is passed over. Rows may be stale or wrong: the caller proves them.
// Threads: pure but for reading the two files.
#ifndef FIRSTFAULT_PROTO_PAGE_CARVER_H_
#define FIRSTFAULT_PROTO_PAGE_CARVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace firstfault {

// The size of the pages of an EventLog: a size of its own would be one more byte to be damaged.
inline constexpr uint32_t kLogPageBytes = 4096;

// Shows each row's key and the last column's bytes, where that is a text or a blob, in order of pages.
void CarveRows(const std::string& path, const std::function<void(uint64_t key, std::string_view bytes)>& row);

}  // namespace firstfault

#endif  // FIRSTFAULT_PROTO_PAGE_CARVER_H_
