#include "net/library_tls.hpp"

#include "net/certificate.hpp"
#include "net/peer_name.hpp"

#include <atomic>

#include <openssl/crypto.h>
#include <openssl/ssl.h>

namespace mortise::inline v0::net {

struct library_tls::inside {
    const peer_name wanted;
    const std::string ca;
    bool used = false;
    std::string objection{};
    std::string alert{};

    static void made(void* ssl, void*, CRYPTO_EX_DATA* data, int index, long, void*);
    static int judge(int accepted, X509_STORE_CTX* chain);
    static void hear(const SSL* ssl, int what, int value);
    static int index();
};

namespace {

constinit thread_local library_tls* watching = nullptr;

// OpenSSL calls `made` for every connection that anybody in the process makes, once it has an index.
constinit std::atomic<int> known_index{-1};

}  // namespace

int library_tls::inside::index() {
    int known = known_index.load();
    if (known >= 0) return known;
    const int mine = SSL_get_ex_new_index(0, nullptr, &inside::made, nullptr, nullptr);
    return mine >= 0 && known_index.compare_exchange_strong(known, mine) ? mine : known_index.load();
}

void library_tls::inside::made(void* ssl, void*, CRYPTO_EX_DATA* data, int index, long, void*) {
    if (watching == nullptr || index != known_index.load()) return;
    inside& self = *watching->inside_;
    auto* const one = static_cast<SSL*>(ssl);
    SSL_set_verify(one, SSL_VERIFY_PEER, &inside::judge);
    SSL_set_min_proto_version(one, TLS1_2_VERSION);
    SSL_set_info_callback(one, &inside::hear);
    CRYPTO_set_ex_data(data, index, &self);
    // A name that cannot be checked is not left unchecked.
    if (!demand(one, self.wanted)) {
        self.objection = "'" + self.wanted.text + "' is no name that a certificate can be for";
        SSL_set_verify(one, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 0; });
    }
    self.used = true;
}

int library_tls::inside::judge(int accepted, X509_STORE_CTX* chain) {
    if (accepted == 1) return accepted;
    const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<inside*>(SSL_get_ex_data(ssl, known_index.load()));
    self.objection = objection_to(X509_STORE_CTX_get_current_cert(chain), X509_STORE_CTX_get_error(chain),
                                  self.wanted.text, self.ca);
    return accepted;
}

void library_tls::inside::hear(const SSL* ssl, int what, int value) {
    if (what != SSL_CB_READ_ALERT || value >> 8 != SSL3_AL_FATAL) return;
    static_cast<inside*>(SSL_get_ex_data(ssl, known_index.load()))->alert = SSL_alert_desc_string_long(value);
}

library_tls::library_tls(const tls_settings& settings, const std::string& host)
    : inside_(std::make_unique<inside>(inside{name_to_check(settings, host), settings.ca})) {
    inside::index();
}

library_tls::~library_tls() = default;

library_tls::scope::scope(library_tls& checks) noexcept : outer_(watching) {
    watching = &checks;
}

library_tls::scope::~scope() {
    watching = outer_;
}

bool library_tls::used() const noexcept {
    return inside_->used;
}

const std::string& library_tls::objection() const noexcept {
    return inside_->objection;
}

const std::string& library_tls::alert() const noexcept {
    return inside_->alert;
}

std::string library_tls::version() {
    const std::string all = OpenSSL_version(OPENSSL_VERSION);  // "OpenSSL 3.0.11 19 Sep 2023 (...)"
    return all.substr(0, all.find(' ', all.find(' ') + 1));
}

}  // namespace mortise::inline v0::net
