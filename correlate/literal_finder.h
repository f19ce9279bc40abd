// literal_finder.h: where any of some thousand literals occur in a text, without regard to case.
//
// Why:     every byte of every log passes here, and almost none of them matter. A line is looked at closely
//          only where this says so, so this decides what clean logs cost (tests/bench/scan_bench).
// Model:   six bytes of a literal, its key, hold three overlapping groups of four. Of any occurrence exactly
//          one of the three begins at a multiple of three: it is enough to look up every third position in a
//          table of the groups. Where the table says yes the key is compared, and only then the literals.
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
  static constexpr size_t kKeyBytes = 6;
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
  // A group and the key that it is part of.
  struct Group {
    uint32_t bytes;  // folded
    uint32_t at;     // where in the key
    uint32_t key;
  };
  // What lookups with one hash share.
  struct Slot {
    uint64_t key = 0;    // the six bytes of its group's key, folded
    uint32_t at = 0;     // where in the key the group is
    uint32_t begin = 0;  // its groups, in groups_
    uint32_t end = 0;
  };

  void Check(std::string_view text, size_t at, std::vector<Hit>* hits) const;

  std::vector<Literal> literals_;
  std::vector<Key> keys_;
  std::vector<Group> groups_;       // by hash
  std::vector<uint8_t> present_;    // by hash of four folded bytes: a group has it
  std::vector<uint16_t> slot_of_;   // by hash; slot 0 has no groups
  std::vector<Slot> slots_;
};

}  // namespace firstfault

#endif  // FIRSTFAULT_CORRELATE_LITERAL_FINDER_H_
