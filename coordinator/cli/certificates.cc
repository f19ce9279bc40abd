#include "coordinator/cli/certificates.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "correlate/text.h"
#include "proto/credentials.h"

namespace firstfault {
namespace {

namespace fs = std::filesystem;

template <typename T, void (*Free)(T*)>
struct Freed {
  void operator()(T* pointer) const { Free(pointer); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE, X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX, X509_STORE_CTX_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION, X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES, GENERAL_NAMES_free>>;

constexpr int kPrivate = 0600, kPublic = 0644;
// A clock of another host may be a little behind ours.
constexpr long kValidSince = -24L * 3600;
constexpr long kDay = 24L * 3600;
constexpr size_t kHostNameBytesMax = 64;  // of a common name

struct Pair {
  Certificate cert;
  Key key;
};

struct Kind {
  std::string_view basic, use, extended_use;
  int days;
};
constexpr Kind kAuthority = {"critical,CA:TRUE,pathlen:0", "critical,keyCertSign,cRLSign", "", kAuthorityDays};
constexpr Kind kServer = {"critical,CA:FALSE", "critical,digitalSignature", "serverAuth", kCertificateDays};
constexpr Kind kClient = {"critical,CA:FALSE", "critical,digitalSignature", "clientAuth", kCertificateDays};

absl::Status OpenSslError(std::string_view what) { return absl::UnavailableError(Cat("OpenSSL cannot ", what)); }

bool IsAddress(const std::string& name) {
  std::array<uint8_t, 16> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

// It becomes part of a file name and of OpenSSL's own notation.
bool IsHostName(std::string_view name) {
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '-' || c == '_' || c == '.' || c == ':'; };
  return !name.empty() && name.size() <= kHostNameBytesMax && name[0] != '.' && name[0] != '-' && std::all_of(name.begin(), name.end(), is_part);
}

bool AddExtension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_nconf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(cert, extension.get(), -1) == 1;
}

// `authority`: nullptr: it signs itself.
absl::StatusOr<Pair> Sign(const Kind& kind, const std::string& common_name, const std::vector<std::string>& names, const Pair* authority) {
  Pair out{Certificate(X509_new()), Key(EVP_EC_gen("P-256"))};
  X509* const cert = out.cert.get();
  if (cert == nullptr || out.key == nullptr) return OpenSslError("make a key");
  std::array<uint8_t, 16> serial{};
  if (RAND_bytes(serial.data(), serial.size()) != 1) return OpenSslError("find random bytes");
  serial[0] &= 0x7f;
  const std::unique_ptr<BIGNUM, Freed<BIGNUM, BN_free>> number(BN_bin2bn(serial.data(), serial.size(), nullptr));
  X509_NAME* const subject = X509_get_subject_name(cert);
  bool good = number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(cert)) != nullptr && X509_set_version(cert, X509_VERSION_3) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(cert), kValidSince) != nullptr && X509_gmtime_adj(X509_getm_notAfter(cert), kind.days * kDay) != nullptr &&
              X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const uint8_t*>(common_name.data()),
                                         static_cast<int>(common_name.size()), -1, 0) == 1 &&
              X509_set_pubkey(cert, out.key.get()) == 1;
  X509* const issuer = authority == nullptr ? cert : authority->cert.get();
  good = good && X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1;
  std::string alternatives;
  for (const std::string& name : names) alternatives += Cat(alternatives.empty() ? "" : ",", IsAddress(name) ? "IP:" : "DNS:", name);
  const std::pair<int, std::string> extensions[] = {{NID_basic_constraints, std::string(kind.basic)},
                                                    {NID_key_usage, std::string(kind.use)},
                                                    {NID_ext_key_usage, std::string(kind.extended_use)},
                                                    {NID_subject_alt_name, alternatives},
                                                    {NID_subject_key_identifier, "hash"},
                                                    {NID_authority_key_identifier, "keyid:always"}};
  for (const auto& [nid, value] : extensions) good = good && (value.empty() || AddExtension(cert, issuer, nid, value));
  if (!good || X509_sign(cert, authority == nullptr ? out.key.get() : authority->key.get(), EVP_sha256()) == 0) return OpenSslError("sign a certificate");
  return out;
}

std::string Written(const Bio& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

std::string ToPem(X509* cert) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), cert);
  return Written(bio);
}

std::string ToPem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Written(bio);
}

// No password is asked for: nobody may be there.
int NoPassword(char*, int, int, void*) { return 0; }

Certificate CertificateFrom(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
}

Key KeyFrom(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
}

// A file that nobody can have put there meanwhile, durable when OK.
absl::Status WriteNew(const std::string& path, std::string_view text, int mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return absl::UnavailableError(Cat(path, ": ", std::strerror(errno)));
  const bool good = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (good) return absl::OkStatus();
  unlink(path.c_str());
  return absl::UnavailableError(Cat(path, ": ", std::strerror(error)));
}

class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  // Reads the pair where it is there, makes it where not.
  absl::StatusOr<Pair> Have(const std::string& name, const Kind& kind, const std::string& common_name, const std::vector<std::string>& names,
                            const Pair* authority) {
    const std::string cert = Cat(path_, "/", name, ".crt"), key = Cat(path_, "/", name, ".key");
    const bool has_cert = fs::exists(cert), has_key = fs::exists(key);
    if (has_cert != has_key) return absl::FailedPreconditionError(Cat(has_cert ? key : cert, " is missing and ", has_cert ? cert : key, " is there; move that away, both are made anew"));
    made_.push_back({cert, has_cert});
    made_.push_back({key, has_key});
    if (has_cert) {
      const auto cert_pem = ReadCredentialFile(cert), key_pem = ReadCredentialFile(key);
      if (!cert_pem.ok()) return cert_pem.status();
      if (!key_pem.ok()) return key_pem.status();
      Pair out{CertificateFrom(*cert_pem), KeyFrom(*key_pem)};
      if (out.cert == nullptr || out.key == nullptr || X509_check_private_key(out.cert.get(), out.key.get()) != 1) {
        return absl::FailedPreconditionError(Cat(cert, " and ", key, " are no certificate and its key; move them away, both are made anew"));
      }
      return out;
    }
    auto out = Sign(kind, common_name, names, authority);
    if (!out.ok()) return out.status();
    if (auto status = WriteNew(key, ToPem(out->key.get()), kPrivate); !status.ok()) return status;
    if (auto status = WriteNew(cert, ToPem(out->cert.get()), kPublic); !status.ok()) return status;
    return out;
  }

  absl::Status HaveSecret(const std::string& name) {
    const std::string path = Cat(path_, "/", name);
    made_.push_back({path, fs::exists(path)});
    if (made_.back().kept) return absl::OkStatus();
    std::array<uint8_t, 32> bytes{};
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) return OpenSslError("find random bytes");
    std::string text;
    for (const uint8_t byte : bytes) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    return WriteNew(path, Cat(text, "\n"), kPrivate);
  }

  std::vector<MadeFile> TakeMade() { return std::move(made_); }

 private:
  const std::string path_;
  std::vector<MadeFile> made_;
};

int64_t SecondsLeft(const X509* cert, int64_t now_s) {
  const std::unique_ptr<ASN1_TIME, Freed<ASN1_TIME, ASN1_TIME_free>> now(ASN1_TIME_set(nullptr, now_s));
  int days = 0, seconds = 0;
  ASN1_TIME_diff(&days, &seconds, now.get(), X509_get0_notAfter(cert));
  return int64_t{days} * kDay + seconds;
}

std::vector<std::string> NamesOf(const X509* cert) {
  std::vector<std::string> out;
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      out.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)), static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    }
    if (name->type == GEN_IPADD) {
      std::array<char, INET6_ADDRSTRLEN> text{};
      const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      if (inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text.data(), text.size()) != nullptr) out.emplace_back(text.data());
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<MadeFile>> MakeCertificates(const std::string& folder, const std::vector<std::string>& servers,
                                                       const std::vector<std::string>& hosts) {
  for (const auto* names : {&servers, &hosts}) {
    for (const std::string& name : *names) {
      if (!IsHostName(name)) return absl::InvalidArgumentError(Cat("'", name, "' is no name of a host"));
    }
  }
  std::error_code error;
  if (fs::create_directories(folder, error)) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) return absl::UnavailableError(Cat(folder, ": ", error.message()));
  Folder out(folder);
  const auto authority = out.Have("ca", kAuthority, "firstfault authority", {}, nullptr);
  if (!authority.ok()) return authority.status();
  std::vector<std::string> server_names = {"localhost", "127.0.0.1", "::1"};
  server_names.insert(server_names.end(), servers.begin(), servers.end());
  if (auto made = out.Have("server", kServer, "firstfault coordinator", server_names, &*authority); !made.ok()) return made.status();
  if (auto made = out.Have("client", kClient, "firstfault client", {}, &*authority); !made.ok()) return made.status();
  for (const std::string& host : hosts) {
    if (auto made = out.Have(Cat("agent-", host), kClient, host, {host}, &*authority); !made.ok()) return made.status();
  }
  if (auto status = out.HaveSecret("token.secret"); !status.ok()) return status;
  return out.TakeMade();
}

absl::StatusOr<CertificateFacts> InspectCertificate(std::string_view cert_pem, std::string_view key_pem, std::string_view ca_pem, int64_t now_s) {
  const Certificate cert = CertificateFrom(cert_pem), authority = CertificateFrom(ca_pem);
  const Key key = KeyFrom(key_pem);
  if (cert == nullptr) return absl::InvalidArgumentError("--tls-cert is no certificate in PEM");
  if (key == nullptr) return absl::InvalidArgumentError("--tls-key is no key in PEM, or has a password");
  if (authority == nullptr) return absl::InvalidArgumentError("--tls-ca is no certificate in PEM");
  if (X509_check_private_key(cert.get(), key.get()) != 1) return absl::InvalidArgumentError("--tls-key is not the key of --tls-cert");
  CertificateFacts facts{std::min(SecondsLeft(cert.get(), now_s), SecondsLeft(authority.get(), now_s)), NamesOf(cert.get())};
  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr || X509_STORE_add_cert(store.get(), authority.get()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), cert.get(), nullptr) != 1) {
    return OpenSslError("check a certificate");
  }
  X509_STORE_CTX_set_time(context.get(), 0, static_cast<time_t>(now_s));
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_PARTIAL_CHAIN);
  if (X509_verify_cert(context.get()) != 1) {
    return absl::InvalidArgumentError(Cat("--tls-cert is not good with --tls-ca: ", X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()))));
  }
  return facts;
}

}  // namespace firstfault
