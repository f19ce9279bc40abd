#include "coordinator/render.h"

#include <google/protobuf/util/json_util.h>

#include "coordinator/report_phrases.h"
#include "coordinator/shown_text.h"
#include "correlate/check.h"
#include "correlate/text.h"

namespace firstfault {

std::string RenderOneLine(const v1::Report& report) {
  std::string line = VerdictLine(report);
  if (report.has_root()) line += Cat(", at ", LinePlace(report.root()));
  return Cat(Printable(line), '\n');
}

std::string RenderJson(const v1::Report& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  FF_CHECK(google::protobuf::util::MessageToJsonString(report, &out, options).ok());
  return out;
}

}  // namespace firstfault
