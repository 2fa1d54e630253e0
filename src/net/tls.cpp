#include "net/tls.hpp"

#include "base/immortal.hpp"
#include "base/text.hpp"
#include "net/certificate.hpp"
#include "net/peer_name.hpp"
#include "net/transport.hpp"

#include <mortise/error.hpp>

#include <memory>
#include <mutex>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace mortise::inline v0::net {

class tls_context {
public:
    explicit tls_context(const tls_settings& files);

    SSL_CTX* get() const { return context_.get(); }

private:
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

namespace {

std::string latest_reason() {
    const char* text = ERR_reason_error_string(ERR_peek_last_error());
    return text == nullptr ? "unknown reason" : text;
}

// The error of a failed handshake or stream. Retrying helps only if it is not hopeless.
transport::result explained(unsigned long code, const tls_settings& how) {
    transport::result said{.is = transport::status::failed, .hopeless = true};
    const char* text = ERR_reason_error_string(code);
    switch (ERR_GET_REASON(code)) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_UNEXPECTED_MESSAGE:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
            said.why = "does not speak TLS; " + how.if_plain;
            break;
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
            said.why = "speaks no TLS 1.2 or newer; " + how.if_old;
            break;
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
            said.why = !how.certificate.empty()
                           ? "does not accept our certificate (" + std::string(text == nullptr ? "" : text) +
                                 "); see the options cert and key"
                           : "asks for a certificate of ours; give one with the options cert and key";
            break;
        default:
            said.why = "TLS failed: " + std::string(text == nullptr ? "unknown reason" : text);
            said.hopeless = false;
    }
    return said;
}

// OpenSSL reads and writes through the transport below, which never raises SIGPIPE.
class tls final : public transport {
public:
    tls(std::unique_ptr<transport> under, std::shared_ptr<const tls_context> context, peer_name wanted,
        tls_settings how);
    ~tls() override { SSL_free(ssl_); }

    int descriptor() const noexcept override { return under_->descriptor(); }
    result establish() override;
    result read(std::span<char> into) override;
    result write(std::string_view bytes) override;
    bool holds_more() const override {
        std::scoped_lock guard{mutex_};
        return SSL_pending(ssl_) > 0;
    }

private:
    static const BIO_METHOD* below();
    static int pull(BIO* from, char* into, int size);
    static int push(BIO* to, const char* bytes, int size);
    static int judge(int accepted, X509_STORE_CTX* chain);
    int moved(BIO* through, const result& how);
    result result_of(int returned);
    result refusal_behind(const result& broken);
    result agreed() const;

    const std::unique_ptr<transport> under_;
    const std::shared_ptr<const tls_context> context_;
    const peer_name wanted_;
    const tls_settings how_;
    bool connected_ = false;
    bool answered_ = false;

    mutable std::mutex mutex_;  // an SSL object is for one thread at a time, even for reading and writing
    SSL* ssl_;
    std::string objection_;
    result below_{};  // the last result of the transport that was not `done`
};

tls::tls(std::unique_ptr<transport> under, std::shared_ptr<const tls_context> context, peer_name wanted,
         tls_settings how)
    : under_(std::move(under)),
      context_(std::move(context)),
      wanted_(std::move(wanted)),
      how_(std::move(how)),
      ssl_(SSL_new(context_->get())) {
    const BIO_METHOD* const method = below();
    BIO* const line = ssl_ == nullptr || method == nullptr ? nullptr : BIO_new(method);
    if (line == nullptr) {
        SSL_free(ssl_);
        throw error(errc::exhausted, "no memory for TLS");
    }
    BIO_set_data(line, this);
    BIO_set_init(line, 1);
    SSL_set_bio(ssl_, line, line);
    SSL_set_app_data(ssl_, this);
    SSL_set_verify(ssl_, SSL_VERIFY_PEER, &tls::judge);
    if (!demand(ssl_, wanted_)) {
        SSL_free(ssl_);
        throw error(errc::bad_url, base::quoted(wanted_.text) + " is no name that a certificate can be for");
    }
    if (!how_.protocol.empty()) {
        const std::string offered = static_cast<char>(how_.protocol.size()) + how_.protocol;
        SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(offered.data()),
                            static_cast<unsigned>(offered.size()));
    }
    SSL_set_connect_state(ssl_);
}

// Null if out of memory.
const BIO_METHOD* tls::below() {
    constexpr auto drop = [](BIO_METHOD* made) { BIO_meth_free(made); };
    static constinit base::made_once<BIO_METHOD, decltype(drop)> made;
    return made([=] {
        std::unique_ptr<BIO_METHOD, decltype(drop)> method{
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mortise transport")};
        if (!method) return method;
        BIO_meth_set_read(method.get(), &tls::pull);
        BIO_meth_set_write(method.get(), &tls::push);
        BIO_meth_set_ctrl(method.get(),
                          [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH ? 1 : 0; });
        return method;
    });
}

int tls::pull(BIO* from, char* into, int size) {
    tls& self = *static_cast<tls*>(BIO_get_data(from));
    return self.moved(from, self.under_->read({into, static_cast<std::size_t>(size)}));
}

int tls::push(BIO* to, const char* bytes, int size) {
    tls& self = *static_cast<tls*>(BIO_get_data(to));
    return self.moved(to, self.under_->write({bytes, static_cast<std::size_t>(size)}));
}

int tls::moved(BIO* through, const result& how) {
    BIO_clear_retry_flags(through);
    if (how.is == status::done) return static_cast<int>(how.bytes);
    below_ = how;
    if (how.is == status::wants_read) BIO_set_retry_read(through);
    if (how.is == status::wants_write) BIO_set_retry_write(through);
    return how.is == status::closed ? 0 : -1;
}

// Does not change the verdict, but records the reason while the certificate is available.
int tls::judge(int accepted, X509_STORE_CTX* chain) {
    if (accepted != 1) {
        const auto* ssl =
            static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
        tls& self = *static_cast<tls*>(SSL_get_app_data(ssl));
        self.objection_ = objection_to(X509_STORE_CTX_get_current_cert(chain), X509_STORE_CTX_get_error(chain),
                                       self.wanted_.text, self.how_.ca);
    }
    return accepted;
}

transport::result tls::result_of(int returned) {
    switch (SSL_get_error(ssl_, returned)) {
        case SSL_ERROR_WANT_READ:
            return {.is = status::wants_read};
        case SSL_ERROR_WANT_WRITE:
            return {.is = status::wants_write};
        case SSL_ERROR_ZERO_RETURN:
            return {.is = status::closed};
        default:
            break;
    }
    if (!objection_.empty()) return {.is = status::failed, .why = objection_, .hopeless = true};
    if (below_.is == status::failed || below_.is == status::closed) return below_;
    return explained(ERR_peek_last_error(), how_);
}

// On what is spoken over it.
transport::result tls::agreed() const {
    if (how_.protocol.empty()) return {};
    const unsigned char* chosen = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(ssl_, &chosen, &length);
    if (std::string_view{reinterpret_cast<const char*>(chosen), length} == how_.protocol) return {};
    return {.is = status::failed, .why = "speaks TLS, but not " + how_.protocol + " over it", .hopeless = true};
}

transport::result tls::establish() {
    if (!connected_) {
        if (result how = under_->establish(); how.is != status::done) return how;
        connected_ = true;
    }
    std::scoped_lock guard{mutex_};
    ERR_clear_error();
    const int returned = SSL_do_handshake(ssl_);
    if (returned == 1) return agreed();
    result how = result_of(returned);
    if (how.is == status::closed || (how.is == status::failed && !how.hopeless))
        return {.is = status::failed,
                .why = "broke off the TLS handshake" + (how.why.empty() ? "" : " (" + how.why + ")") +
                       "; does it speak TLS?",
                .advises = true};
    return how;
}

transport::result tls::read(std::span<char> into) {
    std::scoped_lock guard{mutex_};
    ERR_clear_error();
    std::size_t got = 0;
    const int returned = SSL_read_ex(ssl_, into.data(), into.size(), &got);
    if (returned != 1) return result_of(returned);
    answered_ = true;
    return {.bytes = got};
}

// With TLS 1.3 our handshake is done before the server has seen our certificate. If it refuses that, it sends an alert and
// closes, and our first write may meet the reset before anybody has read the alert.
transport::result tls::refusal_behind(const result& broken) {
    if (answered_ || broken.is != status::failed) return broken;
    char ignored[1];
    std::size_t got = 0;
    ERR_clear_error();
    below_ = {};
    const int returned = SSL_read_ex(ssl_, ignored, sizeof ignored, &got);
    if (returned == 1) return broken;
    const result last = result_of(returned);
    return last.hopeless ? last : broken;
}

transport::result tls::write(std::string_view bytes) {
    std::scoped_lock guard{mutex_};
    ERR_clear_error();
    std::size_t put = 0;
    const int returned = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &put);
    if (returned == 1) return {.bytes = put};
    return refusal_behind(result_of(returned));
}

}  // namespace

tls_context::tls_context(const tls_settings& files) : context_(nullptr, &SSL_CTX_free) {
    // Clients may be used in static destructors, so OpenSSL must not be cleaned up at exit.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
    ERR_clear_error();
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_) throw error(errc::exhausted, "no TLS to be had: " + latest_reason());
    SSL_CTX* const c = context_.get();
    const auto bad = [](const std::string& option, const std::string& file) {
        throw error(errc::bad_url, option + ": cannot use " + base::quoted(file) + ": " + latest_reason());
    };
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // Refuses a key with a passphrase, instead of prompting on the terminal.
    SSL_CTX_set_default_passwd_cb(c, [](char*, int, int, void*) { return -1; });
    if (files.ca.empty()) {
        SSL_CTX_set_default_verify_paths(c);
    } else if (SSL_CTX_load_verify_file(c, files.ca.c_str()) != 1) {
        bad("ca", files.ca);
    }
    if (files.certificate.empty()) return;
    if (SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) != 1) bad("cert", files.certificate);
    if (SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) != 1) bad("key", files.key);
}

bool has_tls() noexcept {
    return true;
}

std::shared_ptr<const tls_context> load(const tls_settings& files) {
    return std::make_shared<const tls_context>(files);
}

std::unique_ptr<transport> with_tls(std::unique_ptr<transport> under, const tls_settings& how,
                                    const std::string& host) {
    return std::make_unique<tls>(std::move(under), how.loaded, name_to_check(how.server_name, host), how);
}

}  // namespace mortise::inline v0::net
