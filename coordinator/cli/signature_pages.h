// signature_pages.h: the catalogue for people: its list, a search, and a page a row.
//
// Why:     a report names a signature; this is where a person reads what it means and what it does not.
// Threads: pure functions.
// Order:   by id.
#ifndef FIRSTFAULT_COORDINATOR_CLI_SIGNATURE_PAGES_H_
#define FIRSTFAULT_COORDINATOR_CLI_SIGNATURE_PAGES_H_

#include <string>
#include <string_view>
#include <vector>

#include "correlate/catalogue.h"

namespace firstfault {

// Rows with `text` in id, title, page or examples, in any case of letters, or with a pattern that matches it:
// a line of a log finds its signature. Empty text finds all.
std::vector<const Signature*> SearchSignatures(const Catalogue& catalogue, std::string_view text);

// Id, class, role, title; aligned.
std::string SignatureList(const std::vector<const Signature*>& rows);

std::string SignaturePage(const Catalogue& catalogue, const Signature& signature, size_t columns);

}  // namespace firstfault

#endif  // FIRSTFAULT_COORDINATOR_CLI_SIGNATURE_PAGES_H_
