#include "coordinator/read_problems.h"

#include "correlate/text.h"

namespace firstfault {
namespace {

struct TroubleRow {
  std::string_view one;     // after the path
  std::string_view remedy;  // after a colon
  std::string_view many;    // after a count
};

// In the order of Trouble.
constexpr std::array<TroubleRow, static_cast<size_t>(Trouble::kCount)> kRows = {{
    {"does not exist", "check the path", "more paths do not exist"},
    {"is a link to nothing", "give the file that it meant", "more links lead to nothing"},
    {"could not be opened", "make it readable for this user, or leave it out",
     "more files could not be opened"},
    {"could not be listed", "make the folder readable for this user, or leave it out",
     "more folders could not be listed"},
    {"could not be read to its end", "check the disk or mount that it is on, and read it again",
     "more files could not be read to their end"},
    {"became shorter while it was read", "copy it first, or read it again when nothing truncates it",
     "more files became shorter while they were read"},
    {"is a pipe, socket or device in a folder and was skipped", "name it on the command line if it is a log",
     "more pipes, sockets or devices in folders were skipped"},
    {"is a pipe that was named before, and is read once", "name it once", "more pipes were named before"},
    {"is damaged and was read up to the damage", "copy or pack it again",
     "more archives are damaged and were read up to the damage"},
    {"has more behind its compressed data, which was not read", "cut it off with tail -c and give it as a file of its own",
     "more files have something behind their compressed data"},
    {"is encrypted and was not read", "decrypt it first", "more encrypted files were not read"},
    {"is an archive inside an archive and was not read", "unpack the outer one first",
     "more archives inside archives were not read"},
    {"unpacks to more than the limit and was read up to it", "unpack it yourself if it is what it says",
     "more files unpack to more than the limit and were read up to it"},
    {"needs more memory to unpack than the limit and was not read", "unpack it first",
     "more files need more memory to unpack than the limit"},
    {"has more members than the limit; the rest was not read", "unpack it and give the part that matters",
     "more archives have more members than the limit"},
    {"holds more files than the limit; the rest was not read", "give the folder of one job",
     "more folders hold more files than the limit"},
    {"has records that its format does not allow; they are read as plain lines",
     "export it again if events are missing", "more files have records that their format does not allow"},
    {"is a journal in systemd's own form and was not read", "export it with journalctl --file=PATH -o json",
     "more journal files were not read"},
    {"is a verdict about logs, not a log, and was not read", "leave it out", "more verdicts about logs were not read"},
}};

}  // namespace

void ReadProblems::Add(Trouble trouble, std::string_view path, std::string_view detail) {
  const auto index = static_cast<size_t>(trouble);
  Kind& kind = kinds_[index];
  if (++kind.count > static_cast<int64_t>(kNamedMax)) return;
  std::string sentence = Cat(path, " ", kRows[index].one);
  if (!detail.empty()) sentence += Cat(" (", detail, ")");
  kind.named.push_back(Cat(sentence, ": ", kRows[index].remedy, "."));
}

int64_t ReadProblems::broken_off() const {
  constexpr Trouble kBrokenOff[] = {Trouble::kReadFailed, Trouble::kShrank, Trouble::kDamaged, Trouble::kMoreBehind, Trouble::kTooManyBytes};
  int64_t count = 0;
  for (const Trouble trouble : kBrokenOff) count += kinds_[static_cast<size_t>(trouble)].count;
  return count;
}

std::vector<std::string> ReadProblems::Sentences() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    out.insert(out.end(), kinds_[i].named.begin(), kinds_[i].named.end());
    const auto unnamed = kinds_[i].count - static_cast<int64_t>(kinds_[i].named.size());
    if (unnamed > 0) out.push_back(Cat(unnamed, " ", kRows[i].many, "."));
  }
  return out;
}

}  // namespace firstfault
