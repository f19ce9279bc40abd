// Every example of every catalogue row, run through the real reader; the list of ids; the hygiene of rows.
#include "correlate/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "correlate/source_scanner.h"

namespace firstfault {
namespace {

// Ids that a log of just this line gives: events, facts, and benign lines through a look at the patterns.
std::set<std::string> IdsOf(const std::string& line, SourceInfo::Kind kind) {
  const Engine& engine = BuiltInEngine();
  static ScanBuffers buffers;
  SourceInfo info;
  info.kind = kind;
  SourceScanner scanner(engine, buffers, info);
  scanner.Feed(line + "\n");
  const SourceDigest digest = scanner.Finish();
  std::set<std::string> ids;
  for (const auto* list : {&digest.events, &digest.facts}) {
    for (const Event& event : *list) {
      ids.insert(engine.catalogue->signatures()[event.signature].row.id());
      for (uint32_t other : event.also) ids.insert(engine.catalogue->signatures()[other].row.id());
    }
  }
  // A row that was refined by a value matched as well.
  for (const std::string& id : std::set<std::string>(ids)) {
    const v1::Signature& row = engine.catalogue->Find(id)->row;
    if (row.has_refines()) ids.insert(row.refines().of());
  }
  for (uint32_t index : digest.benign) ids.insert(engine.catalogue->signatures()[index].row.id());
  return ids;
}

TEST(Catalogue, EveryPositiveExampleMatchesItsRow) {
  for (const Signature& signature : BuiltInPages()->signatures()) {
    for (const std::string& line : signature.row.positive()) {
      EXPECT_TRUE(IdsOf(line, SourceInfo::Kind::kUnknown).contains(signature.row.id()))
          << signature.row.id() << " does not match its positive example: " << line;
    }
  }
}

TEST(Catalogue, NoNegativeOrProseExampleMatchesItsRow) {
  for (const Signature& signature : BuiltInPages()->signatures()) {
    for (const auto* list : {&signature.row.negative(), &signature.row.prose()}) {
      for (const std::string& line : *list) {
        EXPECT_FALSE(IdsOf(line, SourceInfo::Kind::kUnknown).contains(signature.row.id()))
            << signature.row.id() << " matches: " << line;
      }
    }
  }
}

TEST(Catalogue, ProseIsNeverACause) {
  for (const Signature& signature : BuiltInPages()->signatures()) {
    for (const std::string& line : signature.row.prose()) {
      for (const std::string& id : IdsOf(line, SourceInfo::Kind::kUnknown)) {
        const Signature* other = BuiltInPages()->Find(id);
        EXPECT_NE(other->role, Role::kInitiating) << signature.row.id() << ": prose is taken for " << id << ": " << line;
      }
    }
  }
}

TEST(Catalogue, EveryRowIsComplete) {
  for (const Signature& signature : BuiltInPages()->signatures()) {
    const v1::Signature& row = signature.row;
    EXPECT_FALSE(row.title().empty()) << row.id();
    EXPECT_FALSE(row.quick_answer().empty()) << row.id();
    EXPECT_FALSE(row.does_not_prove().empty()) << row.id();
    EXPECT_FALSE(row.source().empty()) << row.id();
    EXPECT_TRUE(row.evidence() == "S" || row.evidence() == "D" || row.evidence() == "L" || row.evidence() == "U") << row.id();
    if (row.derived()) continue;
    EXPECT_GE(row.positive_size(), 1) << row.id();
    EXPECT_GE(row.negative_size(), 1) << row.id();
    EXPECT_GE(row.prose_size(), 1) << row.id();
  }
}

// Ids are a contract: scripts and old recordings name them. New ones are appended to the list.
TEST(Catalogue, IdsAreOnlyEverAppended) {
  std::ifstream in(FIRSTFAULT_SOURCE_DIR "/tests/unit/signature_ids.txt");
  ASSERT_TRUE(in);
  std::set<std::string> listed;
  for (std::string id; std::getline(in, id);) {
    EXPECT_NE(BuiltInPages()->Find(id), nullptr) << id << " was removed or renamed";
    listed.insert(id);
  }
  for (const Signature& signature : BuiltInPages()->signatures()) {
    EXPECT_TRUE(listed.contains(signature.row.id())) << "append to tests/unit/signature_ids.txt: " << signature.row.id();
  }
}

// Events name rows by index, pages by id: both see the same table.
TEST(Catalogue, TheEngineHasTheRowsOfThePages) {
  const Catalogue& lean = *BuiltInEngine().catalogue;
  const Catalogue& pages = *BuiltInPages();
  ASSERT_EQ(lean.signatures().size(), pages.signatures().size());
  ASSERT_EQ(lean.patterns().size(), pages.patterns().size());
  for (size_t i = 0; i < lean.signatures().size(); ++i) {
    EXPECT_EQ(lean.signatures()[i].row.id(), pages.signatures()[i].row.id());
    EXPECT_EQ(lean.signatures()[i].role, pages.signatures()[i].role);
  }
}

TEST(Catalogue, HasTheBreadthOfTheReference) { EXPECT_GE(BuiltInPages()->signatures().size(), 400u); }

v1::Catalogue OneRow(const std::string& regex) {
  v1::Catalogue file;
  v1::Signature* row = file.add_signature();
  row->set_id("a.b");
  row->set_class_("none");
  row->set_role("benign");
  row->set_severity("info");
  row->add_pattern()->set_regex(regex);
  return file;
}

TEST(Catalogue, RegexesOutsideTheCommonSubsetAreRefused) {
  for (const char* bad : {"^starting", "at end$", "before\\sbehind", "\\bwhole word", "[^x]yellowish", "yellowish.*", "(yellowish", "(?:yellowish)*", "(?P<nosuchname>yellowish)", "short"}) {
    EXPECT_FALSE(Catalogue::Build({OneRow(bad)}).ok()) << bad;
  }
  for (const char* good : {"starting", "[^x\\n]yellowish", "a\\$bcdef", "(?P<rank>[0-9]+) yellowish", "[]a]bcdefg"}) {
    EXPECT_TRUE(Catalogue::Build({OneRow(good)}).ok()) << good;
  }
}

TEST(Catalogue, DuplicateAndDanglingIdsAreRefused) {
  v1::Catalogue twice = OneRow("yellowish");
  EXPECT_FALSE(Catalogue::Build({twice, twice}).ok());
  v1::Catalogue dangling = OneRow("yellowish");
  dangling.mutable_signature(0)->add_related("no.such");
  const auto built = Catalogue::Build({dangling});
  ASSERT_FALSE(built.ok());
  EXPECT_NE(std::string(built.status().message()).find("no.such"), std::string::npos);
}

}  // namespace
}  // namespace firstfault
