#include "correlate/catalogue_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "absl/status/status.h"
#include "correlate/text.h"

namespace firstfault {
namespace {

class KeepErrors : public google::protobuf::io::ErrorCollector {
 public:
  explicit KeepErrors(std::string_view name) : name_(name) {}
  void AddError(int line, int column, const std::string& message) override {
    text_ += Cat(text_.empty() ? "" : "\n", name_, ':', line + 1, ':', column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string_view name_;
  std::string text_;
};

}  // namespace

absl::StatusOr<v1::Catalogue> ParseCatalogueText(std::string_view name, const std::string& text) {
  v1::Catalogue out;
  google::protobuf::TextFormat::Parser parser;
  KeepErrors errors(name);
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(text, &out)) return absl::InvalidArgumentError(errors.text());
  return out;
}

}  // namespace firstfault
