// literal_finder.h: where any of some thousand literals occur in a text, without regard to case.
//
// Why:     every byte of every log passes here, and almost none of them matter. A line is looked at closely
//          only where this says so, so this decides what clean logs cost (tests/bench/scan_bench).
// Model:   seven bytes of a literal, its key, hold four overlapping groups of four. Of any occurrence exactly
//          one of the four begins at a multiple of four: it is enough to look up every fourth position in a
//          table of the groups. Where the table says yes, a byte beside the group is looked at, then the key is
//          compared, and only then the literals.
//          It is the shift of Wu and Manber's multi-pattern search (1994), fixed: a table instead of an
//          automaton leaves no load that waits for the one before.
// Shapes:  literals are lower case; letters are A to Z.
// Threads: immutable after construction; shared.
#ifndef FIRSTFAULT_CORRELATE_LITERAL_FINDER_H_
#define FIRSTFAULT_CORRELATE_LITERAL_FINDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace firstfault {

class LiteralFinder {
 public:
  static constexpr size_t kKeyBytes = 7;
  static constexpr size_t kGroupBytes = 4;  // what one lookup sees

  struct Literal {
    std::string text;  // kKeyBytes at least
    uint32_t key;      // where in it the key begins; rare keys are fast
  };
  struct Hit {
    uint64_t end;      // of the occurrence, in the text
    uint32_t literal;  // index into the constructor's list
  };

  // No literal is listed twice.
  explicit LiteralFinder(std::vector<Literal> literals);

  // Appends every occurrence in `text`, in order of `end`. Texts of up to 4 GiB.
  void Find(std::string_view text, std::vector<Hit>* hits) const;

 private:
  struct Key {
    uint64_t bytes;  // folded
    std::vector<uint32_t> literals;
  };
  // What a group in the text can be part of.
  struct Candidate {
    uint64_t key_bytes;
    uint32_t at;  // where in the key the group is
    uint32_t key;
    uint32_t hash;
  };
  // All candidates of one hash.
  struct Slot {
    // Sets of bytes by their low five bits, which tell letters apart and do not know their case: those behind the
    // group in keys that go on there, those before it in the keys that it ends.
    uint32_t behind, before;
    uint32_t first, count;  // in candidates_
  };

  void LookUp(std::string_view text, size_t at, std::vector<Hit>* hits) const;
  void Confirm(std::string_view text, size_t at, const Candidate& candidate, std::vector<Hit>* hits) const;

  std::vector<Literal> literals_;
  std::vector<Key> keys_;
  std::vector<Candidate> candidates_;  // by hash
  std::vector<Slot> slots_;
  std::vector<uint8_t> taken_;     // by hash of a group: whether it has a slot
  std::vector<uint16_t> slot_of_;  // by hash of a group
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_LITERAL_FINDER_H_
