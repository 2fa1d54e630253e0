#include "net/certificate.hpp"

#include "base/text.hpp"

#include <array>
#include <ctime>
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace mortise::inline v0::net {
namespace {

std::string text_of(const ASN1_STRING* text) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string common_name(const X509_NAME* of) {
    const int at = X509_NAME_get_index_by_NID(of, NID_commonName, -1);
    return at < 0 ? "" : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(of, at)));
}

std::string shown_address(const ASN1_STRING* bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
    if (ASN1_STRING_length(bytes) != 4 && ASN1_STRING_length(bytes) != 16) return "?";
    return ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size()) == nullptr ? "?" : text.data();
}

// The names and addresses it is for, as far as they fit in a line.
std::string names_of(X509* certificate) {
    constexpr std::size_t most = 4;
    std::vector<std::string> names;
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all{
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
        &GENERAL_NAMES_free};
    for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
        int type = 0;
        const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), i), &type);
        if (type == GEN_DNS) names.push_back(text_of(static_cast<const ASN1_STRING*>(value)));
        if (type == GEN_IPADD) names.push_back(shown_address(static_cast<const ASN1_STRING*>(value)));
    }
    if (names.empty()) names.push_back(common_name(X509_get_subject_name(certificate)));
    std::string shown;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        shown += (i == 0 ? "" : ", ") + base::quoted(names[i]);
    if (names.size() > most) shown += " and " + std::to_string(names.size() - most) + " more";
    return shown;
}

std::string day_of(const ASN1_TIME* when) {
    std::tm parts{};
    std::array<char, 32> text{};
    if (ASN1_TIME_to_tm(when, &parts) != 1) return "an unknown day";
    std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
    return text.data();
}

}  // namespace

std::string objection_to(X509* certificate, int verify_error, const std::string& wanted, const std::string& ca) {
    if (certificate == nullptr) return "the server shows no certificate";
    switch (verify_error) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "the certificate is for " + names_of(certificate) + ", not " + base::quoted(wanted) +
                   "; connect to a name it is for, or say which with the option server_name";
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return "the certificate of " + names_of(certificate) + " expired on " +
                   day_of(X509_get0_notAfter(certificate)) + "; renew it";
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "the certificate of " + names_of(certificate) + " is valid from " +
                   day_of(X509_get0_notBefore(certificate)) + " on; is a clock wrong?";
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            return "the certificate is signed by " + base::quoted(common_name(X509_get_issuer_name(certificate))) +
                   ", which " + (ca.empty() ? "this system does not trust" : "is not in " + base::quoted(ca)) +
                   "; name the right file with the option ca";
        default:
            return "the certificate of " + names_of(certificate) +
                   " is not accepted: " + X509_verify_cert_error_string(verify_error);
    }
}

}  // namespace mortise::inline v0::net
