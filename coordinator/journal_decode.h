// journal_decode.h: journalctl -o json and -o export.
//
// Why:     these are the forms that keep what the short ones lose: the zone, microseconds, and the
//          kernel's own stamp beside the wall clock, which together give the offset of both clocks.
// Model:   the wall time printed is that of reception, as `journalctl` prints it; the bracket holds the
//          kernel's stamp (_SOURCE_MONOTONIC_TIMESTAMP), else the journal's. A new boot is announced by
//          the line that journalctl prints, because stamps since boot start again.
// Source:  systemd.journal-fields(7); "Journal Export Formats", systemd.io.
#ifndef FIRSTFAULT_COORDINATOR_JOURNAL_DECODE_H_
#define FIRSTFAULT_COORDINATOR_JOURNAL_DECODE_H_

#include <memory>
#include <string_view>

#include "coordinator/decode.h"

namespace firstfault {

bool IsJournalJsonLine(std::string_view line);
bool IsJournalExportLine(std::string_view line);
std::unique_ptr<Decoder> NewJournalJsonDecoder();
std::unique_ptr<Decoder> NewJournalExportDecoder();

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_JOURNAL_DECODE_H_
