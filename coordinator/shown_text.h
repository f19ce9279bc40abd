// shown_text.h: text of logs and reports, made safe and short enough to be shown.
//
// Why:     log text comes from anywhere: an escape sequence in it must not recolour, retitle or rewrite the
//          terminal of the person who reads the report, and a 1 MiB line must not bury the rest.
// Model:   Printable() first, everything else on its result. Widths are terminal columns, not bytes.
// Errors:  bytes that are not UTF-8 are shown as \xNN.
// Threads: pure functions.
// Example: Printable("\x1b[31mError\x1b[0m\x07") is "Error\x07" with the last four characters spelled out.
#ifndef FIRSTFAULT_COORDINATOR_SHOWN_TEXT_H_
#define FIRSTFAULT_COORDINATOR_SHOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace firstfault {

// Colours and cursor movements (CSI and two-character sequences) are dropped, tabs become blanks. Every other
// control character, line break, invisible or direction-changing character is spelled out, so that nothing
// that was hidden in the log stays hidden. The result is one line.
std::string Printable(std::string_view text);

// Columns that a terminal needs for printable text.
size_t Columns(std::string_view printable);

// At most `columns` wide: the middle gives way to "...", since log lines have who and when at the front and
// the numbers at the end. Words are not cut, unless one is most of what is left.
std::string CutMiddle(std::string_view printable, size_t columns);

// A line in three parts, of which the middle one is why it is shown: at most `columns` wide, cut before and
// behind `kept`, and in it only where it does not fit alone.
std::string CutAround(std::string_view before, std::string_view kept, std::string_view after, size_t columns);

// Words filled into lines of at most `columns`, every line after the first starting with `indent` (the first
// one goes after text of the same width). A longer word stays whole, so that it can be copied.
std::string Wrap(std::string_view printable, size_t columns, std::string_view indent);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_SHOWN_TEXT_H_
