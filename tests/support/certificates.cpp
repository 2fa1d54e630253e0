#include "support/certificates.hpp"

#include <cstdio>
#include <ctime>
#include <memory>
#include <stdexcept>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

namespace mortise::testing {
namespace {

template <class T, void (*Free)(T*)>
struct freed {
    void operator()(T* one) const { Free(one); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY, EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed<X509, X509_free>>;

constexpr long day = 24 * 60 * 60;

void check(bool worked, const char* what) {
    if (!worked) throw std::runtime_error(std::string("certificates: ") + what);
}

struct signer {
    key_ptr key;
    certificate_ptr certificate;
};

void extend(X509* certificate, X509* issuer, int which, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    std::unique_ptr<X509_EXTENSION, freed<X509_EXTENSION, X509_EXTENSION_free>> made{
        X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str())};
    check(made && X509_add_ext(certificate, made.get(), -1) == 1, value.c_str());
}

// Signed by `by`, or by itself; good since yesterday. `names` as in "DNS:localhost,IP:127.0.0.1"; none for an authority.
signer make(const std::string& called, const std::string& names, long good_for, const signer* by) {
    static long serial = 0;
    signer made{key_ptr{EVP_EC_gen("P-256")}, certificate_ptr{X509_new()}};
    X509* const c = made.certificate.get();
    check(made.key && c != nullptr, "no key");
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(c), -day);
    X509_gmtime_adj(X509_getm_notAfter(c), good_for);
    X509_set_pubkey(c, made.key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(called.c_str()), -1, -1, 0);
    X509* const issuer = by != nullptr ? by->certificate.get() : c;
    X509_set_issuer_name(c, X509_get_subject_name(issuer));
    extend(c, issuer, NID_basic_constraints, by != nullptr ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (!names.empty()) extend(c, issuer, NID_subject_alt_name, names);
    check(X509_sign(c, (by != nullptr ? by->key : made.key).get(), EVP_sha256()) > 0, "not signed");
    return made;
}

template <class Write>
std::string in_file(const std::string& path, Write write) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out{std::fopen(path.c_str(), "w"), std::fclose};
    check(out && ::fchmod(::fileno(out.get()), 0600) == 0 && write(out.get()) == 1, path.c_str());
    return path;
}
std::string certificate_in(const std::string& path, const signer& of) {
    return in_file(path, [&](std::FILE* out) { return PEM_write_X509(out, of.certificate.get()); });
}
certificates::pair pair_in(const std::string& path, const signer& of) {
    return {certificate_in(path + ".pem", of), in_file(path + ".key", [&](std::FILE* out) {
                return PEM_write_PrivateKey(out, of.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
            })};
}

}  // namespace

certificates::certificates(const std::string& directory) {
    const std::string here = "DNS:localhost,IP:127.0.0.1";
    const signer ours = make("mortise test authority", "", day, nullptr);
    const signer theirs = make("another authority", "", day, nullptr);
    authority = certificate_in(directory + "/authority.pem", ours);
    other_authority = certificate_in(directory + "/other-authority.pem", theirs);
    server = pair_in(directory + "/server", make("server", here, day, &ours));
    expired = pair_in(directory + "/expired", make("server", here, -60, &ours));
    other_name = pair_in(directory + "/other-name", make("server", "DNS:another.example", day, &ours));
    client = pair_in(directory + "/client", make("client", "DNS:client.example", day, &ours));
}

}  // namespace mortise::testing
