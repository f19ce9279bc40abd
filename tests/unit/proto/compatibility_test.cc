// The messages may only grow: an agent of one release talks to a coordinator of the next, and recordings are read for
// years. What was promised is descriptor_set.txtpb beside this file.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "proto/ingest.pb.h"
#include "proto/query.pb.h"
#include "proto/signature.pb.h"

namespace firstfault {
namespace {

namespace pb = google::protobuf;

constexpr char kHowToPromise[] =
    "protoc -I . --descriptor_set_out=/dev/stdout proto/*.proto | protoc --decode=google.protobuf.FileDescriptorSet "
    "google/protobuf/descriptor.proto | grep -v json_name > tests/unit/proto/descriptor_set.txtpb";

std::string OneofOf(const pb::FieldDescriptor& field) {
  return field.real_containing_oneof() == nullptr ? "" : field.real_containing_oneof()->name();
}

std::string TypeOf(const pb::FieldDescriptor& field) {
  if (field.message_type() != nullptr) return field.message_type()->full_name();
  return field.enum_type() != nullptr ? field.enum_type()->full_name() : field.type_name();
}

// In whatever order they stand: a file is built once what it imports is.
void Build(const pb::FileDescriptorSet& files, pb::DescriptorPool* pool) {
  const auto has = [&](const std::string& name) { return pool->FindFileByName(name) != nullptr; };
  for (int round = 0; round < files.file_size(); ++round) {
    for (const pb::FileDescriptorProto& file : files.file()) {
      if (!has(file.name()) && std::all_of(file.dependency().begin(), file.dependency().end(), has)) pool->BuildFile(file);
    }
  }
}

// What one side promised and the other lacks or has otherwise, each in a line.
class Breaks {
 public:
  Breaks(const pb::FileDescriptorSet& promised, const pb::DescriptorPool& now) : now_(now) {
    pb::DescriptorPool pool;
    Build(promised, &pool);
    for (const pb::FileDescriptorProto& proto : promised.file()) {
      const pb::FileDescriptor* file = pool.FindFileByName(proto.name());
      if (file == nullptr) {
        lines_.push_back(proto.name() + " cannot be read");
        continue;
      }
      for (int i = 0; i < file->message_type_count(); ++i) Message(*file->message_type(i));
      for (int i = 0; i < file->enum_type_count(); ++i) Enum(*file->enum_type(i));
      for (int i = 0; i < file->service_count(); ++i) Service(*file->service(i));
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void Same(const std::string& where, const std::string& was, const std::string& is) {
    if (was != is) lines_.push_back(where + ": was '" + was + "', is '" + is + "'");
  }

  void Message(const pb::Descriptor& was) {
    const pb::Descriptor* is = now_.FindMessageTypeByName(was.full_name());
    if (is == nullptr) return lines_.push_back(was.full_name() + " is gone");
    for (int i = 0; i < was.field_count(); ++i) {
      const pb::FieldDescriptor& field = *was.field(i);
      const pb::FieldDescriptor* other = is->FindFieldByName(field.name());
      if (other == nullptr) {
        lines_.push_back(field.full_name() + " is gone");
        continue;
      }
      Same(field.full_name() + " number", std::to_string(field.number()), std::to_string(other->number()));
      Same(field.full_name() + " type", TypeOf(field), TypeOf(*other));
      Same(field.full_name() + " repeated", field.is_repeated() ? "yes" : "no", other->is_repeated() ? "yes" : "no");
      Same(field.full_name() + " presence", field.has_presence() ? "yes" : "no", other->has_presence() ? "yes" : "no");
      Same(field.full_name() + " oneof", OneofOf(field), OneofOf(*other));
    }
    for (int i = 0; i < was.nested_type_count(); ++i) Message(*was.nested_type(i));
    for (int i = 0; i < was.enum_type_count(); ++i) Enum(*was.enum_type(i));
  }

  void Enum(const pb::EnumDescriptor& was) {
    const pb::EnumDescriptor* is = now_.FindEnumTypeByName(was.full_name());
    if (is == nullptr) return lines_.push_back(was.full_name() + " is gone");
    for (int i = 0; i < was.value_count(); ++i) {
      const pb::EnumValueDescriptor* other = is->FindValueByName(was.value(i)->name());
      Same(was.value(i)->full_name(), std::to_string(was.value(i)->number()), other == nullptr ? "gone" : std::to_string(other->number()));
    }
  }

  void Service(const pb::ServiceDescriptor& was) {
    const auto shape = [](const pb::MethodDescriptor* method) {
      if (method == nullptr) return std::string("gone");
      return std::string(method->client_streaming() ? "stream " : "") + method->input_type()->full_name() + " -> " +
             (method->server_streaming() ? "stream " : "") + method->output_type()->full_name();
    };
    const pb::ServiceDescriptor* is = now_.FindServiceByName(was.full_name());
    if (is == nullptr) return lines_.push_back(was.full_name() + " is gone");
    for (int i = 0; i < was.method_count(); ++i) Same(was.method(i)->full_name(), shape(was.method(i)), shape(is->FindMethodByName(was.method(i)->name())));
  }

  const pb::DescriptorPool& now_;
  std::vector<std::string> lines_;
};

pb::FileDescriptorSet Promised() {
  std::ifstream in(FIRSTFAULT_SOURCE_DIR "/tests/unit/proto/descriptor_set.txtpb");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  pb::FileDescriptorSet out;
  EXPECT_TRUE(pb::TextFormat::ParseFromString(text, &out));
  return out;
}

const pb::DescriptorPool& Present() {
  // Each file is in the pool once something of it is used.
  v1::AgentMessage::descriptor();
  v1::WhyReply::descriptor();
  v1::Signature::descriptor();
  return *pb::DescriptorPool::generated_pool();
}

pb::FileDescriptorSet PresentFiles() {
  pb::FileDescriptorSet out;
  const pb::FileDescriptorSet promised = Promised();
  for (const pb::FileDescriptorProto& one : promised.file()) {
    const pb::FileDescriptor* file = Present().FindFileByName(one.name());
    if (file != nullptr) file->CopyTo(out.add_file());
  }
  return out;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(Compatibility, WhatWasPromisedIsKept) {
  const pb::FileDescriptorSet promised = Promised();
  EXPECT_GE(promised.file_size(), 6);
  EXPECT_EQ(Joined(Breaks(promised, Present()).lines()), "");
}

TEST(Compatibility, WhatIsNewIsPromised) {
  pb::DescriptorPool promised;
  Build(Promised(), &promised);
  EXPECT_EQ(Joined(Breaks(PresentFiles(), promised).lines()), "") << "is new and not in the promise; add it:\n" << kHowToPromise;
}

pb::FileDescriptorProto* FileOf(pb::FileDescriptorSet* set, const std::string& name) {
  for (pb::FileDescriptorProto& file : *set->mutable_file()) {
    if (file.name() == name) return &file;
  }
  return nullptr;
}

pb::DescriptorProto* MessageOf(pb::FileDescriptorSet* set, const std::string& file, const std::string& name) {
  for (pb::DescriptorProto& message : *FileOf(set, file)->mutable_message_type()) {
    if (message.name() == name) return &message;
  }
  return nullptr;
}

// The promise as if it had been made before a change that must not be.
TEST(Compatibility, EveryKindOfBreakIsSeen) {
  struct Row {
    const char* says;
    std::function<void(pb::FileDescriptorSet*)> change;
  };
  const auto hello = [](pb::FileDescriptorSet* set) { return MessageOf(set, "proto/ingest.proto", "Hello"); };
  const Row rows[] = {
      {"Hello.elder is gone",
       [&](auto* set) {
         auto* field = hello(set)->add_field();
         field->set_name("elder");
         field->set_number(99);
         field->set_type(pb::FieldDescriptorProto::TYPE_STRING);
         field->set_label(pb::FieldDescriptorProto::LABEL_OPTIONAL);
       }},
      {"Hello.host number: was '77'", [&](auto* set) { hello(set)->mutable_field(0)->set_number(77); }},
      {"Hello.host type: was 'bytes'", [&](auto* set) { hello(set)->mutable_field(0)->set_type(pb::FieldDescriptorProto::TYPE_BYTES); }},
      {"Hello.host repeated: was 'yes'", [&](auto* set) { hello(set)->mutable_field(0)->set_label(pb::FieldDescriptorProto::LABEL_REPEATED); }},
      {"Elder is gone", [](auto* set) { FileOf(set, "proto/ingest.proto")->add_message_type()->set_name("Elder"); }},
      {"HEAD: was '9'", [](auto* set) { MessageOf(set, "proto/record.proto", "Span")->mutable_enum_type(0)->mutable_value(1)->set_number(9); }},
      {"Stream: was 'firstfault.v1.AgentMessage",
       [](auto* set) { FileOf(set, "proto/ingest.proto")->mutable_service(0)->mutable_method(0)->set_client_streaming(false); }},
      {"Query.Elder: was",
       [](auto* set) {
         auto* method = FileOf(set, "proto/query.proto")->mutable_service(0)->add_method();
         *method = FileOf(set, "proto/query.proto")->service(0).method(0);
         method->set_name("Elder");
       }},
      {"AgentMessage.hello oneof: was ''", [](auto* set) { MessageOf(set, "proto/ingest.proto", "AgentMessage")->mutable_field(0)->clear_oneof_index(); }},
  };
  for (const Row& row : rows) {
    pb::FileDescriptorSet set = Promised();
    row.change(&set);
    const std::string lines = Joined(Breaks(set, Present()).lines());
    EXPECT_NE(lines.find(row.says), std::string::npos) << "'" << row.says << "' is not in:\n" << lines;
  }
}

}  // namespace
}  // namespace firstfault
