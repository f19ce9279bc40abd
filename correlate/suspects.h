// suspects.h: everything that may have failed first, with the evidence for and against each.
//
// Why:     many ranks shout; a suspect is a possible root: a line with a cause in it, or a silence that
//          others point at.
// Model:   additive log-odds (weights.h); one Term is one sentence of evidence.
// Order:   suspects are sorted best first; ties by place, so that the order of sources does not matter.
// Threads: pure function; suspects point into the incident.
#ifndef FIRSTFAULT_CORRELATE_SUSPECTS_H_
#define FIRSTFAULT_CORRELATE_SUSPECTS_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "correlate/incident.h"

namespace firstfault {

// The line that a term rests on, where one does.
struct CitedLine {
  CitedLine() = default;
  CitedLine(const SourceDigest* of, const Position& where) : source(of), at(where) {}
  explicit CitedLine(const PlacedEvent* event) {
    if (event != nullptr) *this = {event->source, event->event->at};
  }
  const SourceDigest* source = nullptr;  // null: none
  Position at;
};

struct Term {
  std::string name;      // as in weights.h
  double weight = 0;
  std::string sentence;  // what the user reads
  CitedLine line;
};

class JobClock;

struct Suspect {
  Location place;
  std::vector<int32_t> ranks;       // all ranks that it may be, best first; empty: none known
  bool all_ranks = false;           // the same fault on every rank: a cause without a place
  FaultClass fault_class = FaultClass::kUndetermined;
  std::string signature;            // empty: no line of its own
  const PlacedEvent* root = nullptr;
  std::vector<const PlacedEvent*> own;  // the lines of the same fault at the same place, in order
  // A silent suspect's last words, where it has no root event.
  const SourceDigest* words_source = nullptr;
  Position words_at;
  std::string words;
  std::vector<Term> terms;
  double score = 0;
  double probability = 0;

  bool Has(std::string_view name) const {
    return std::any_of(terms.begin(), terms.end(), [&](const Term& term) { return term.name == name; });
  }
  void Add(std::string name, double weight, std::string sentence, CitedLine line = {}) {
    score += weight;
    terms.push_back({std::move(name), weight, std::move(sentence), line});
  }
};

// Best first; probabilities include the chance that it is none of them.
std::vector<Suspect> FindSuspects(const Incident& incident, const JobClock& clock);

// Whether anything in the logs says that the job failed.
bool AnythingFailed(const Incident& incident);

// Training went on after this line at the same place: it cannot have ended the rank.
bool WentOn(const Incident& incident, const PlacedEvent& event);

// "rank 3 on n01", "host n01", "all ranks", "train.log".
std::string PlaceName(const Location& place, bool all_ranks, const SourceDigest* source);

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_SUSPECTS_H_
