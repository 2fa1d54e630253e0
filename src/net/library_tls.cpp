#include "net/library_tls.hpp"

#include "net/certificate.hpp"
#include "net/peer_name.hpp"

#include <atomic>

#include <openssl/crypto.h>
#include <openssl/ssl.h>

namespace mortise::inline v0::net {
namespace {

class openssl_watch;

// That is to verify what this thread makes.
constinit thread_local openssl_watch* watching = nullptr;

// OpenSSL calls `made` for every connection that anybody in the process makes, once it has an index.
constinit std::atomic<int> known_index{-1};

class openssl_watch final : public library_tls {
public:
    openssl_watch(peer_name wanted, std::string ca) : wanted_(std::move(wanted)), ca_(std::move(ca)) {
        if (known_index.load() >= 0) return;
        int none = -1;
        known_index.compare_exchange_strong(none, SSL_get_ex_new_index(0, nullptr, &made, nullptr, nullptr));
    }
    bool used() const noexcept override { return used_; }
    const std::string& objection() const noexcept override { return objection_; }
    const std::string& alert() const noexcept override { return alert_; }

private:
    void watch(bool on) noexcept override { watching = on ? this : nullptr; }

    static void made(void* ssl, void*, CRYPTO_EX_DATA* data, int index, long, void*);
    static int judge(int accepted, X509_STORE_CTX* chain);
    static void hear(const SSL* ssl, int what, int value);

    const peer_name wanted_;
    const std::string ca_;
    bool used_ = false;
    std::string objection_{};
    std::string alert_{};
};

void openssl_watch::made(void* ssl, void*, CRYPTO_EX_DATA* data, int index, long, void*) {
    if (watching == nullptr || index != known_index.load()) return;
    openssl_watch& self = *watching;
    auto* const one = static_cast<SSL*>(ssl);
    CRYPTO_set_ex_data(data, index, &self);
    SSL_set_verify(one, SSL_VERIFY_PEER, &judge);
    SSL_set_min_proto_version(one, TLS1_2_VERSION);
    SSL_set_info_callback(one, &hear);
    self.used_ = true;
    if (demand(one, self.wanted_)) return;
    // A name that cannot be checked is not left unchecked.
    self.objection_ = "'" + self.wanted_.text + "' is no name that a certificate can be for";
    SSL_set_verify(one, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 0; });
}

int openssl_watch::judge(int accepted, X509_STORE_CTX* chain) {
    if (accepted == 1) return accepted;
    const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<openssl_watch*>(SSL_get_ex_data(ssl, known_index.load()));
    self.objection_ = objection_to(X509_STORE_CTX_get_current_cert(chain), X509_STORE_CTX_get_error(chain),
                                   self.wanted_.text, self.ca_);
    return accepted;
}

void openssl_watch::hear(const SSL* ssl, int what, int value) {
    if (what != SSL_CB_READ_ALERT || value >> 8 != SSL3_AL_FATAL) return;
    static_cast<openssl_watch*>(SSL_get_ex_data(ssl, known_index.load()))->alert_ = SSL_alert_desc_string_long(value);
}

}  // namespace

std::unique_ptr<library_tls> verify_library(const tls_settings& settings, const std::string& host) {
    return std::make_unique<openssl_watch>(name_to_check(settings.server_name, host), settings.ca);
}

std::string openssl_version() {
    const std::string all = OpenSSL_version(OPENSSL_VERSION);  // "OpenSSL 3.0.11 19 Sep 2023 (...)"
    return all.substr(0, all.find(' ', all.find(' ') + 1));
}

}  // namespace mortise::inline v0::net
