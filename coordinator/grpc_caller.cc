#include "coordinator/grpc_caller.h"

#include <grpc/grpc_security_constants.h>

#include <string>
#include <string_view>

#include "coordinator/bearer.h"

namespace firstfault {

Caller CallerOf(const grpc::ServerContextBase& context) {
  Caller caller;
  caller.address = context.peer();
  const auto auth = context.auth_context();
  const auto kind = auth == nullptr ? std::vector<grpc::string_ref>() : auth->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  if (!kind.empty() && kind.front() == GRPC_SSL_TRANSPORT_SECURITY_TYPE) {
    caller.names.emplace();
    for (const char* property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
      for (const grpc::string_ref& name : auth->FindPropertyValues(property)) caller.names->emplace_back(name.data(), name.size());
    }
  }
  const auto header = context.client_metadata().find("authorization");
  if (header != context.client_metadata().end()) caller.token = BearerToken({header->second.data(), header->second.size()});
  return caller;
}

}  // namespace firstfault
