// TLS that a client library sets up by itself, with the OpenSSL that we use: verified as ours is, in the handshake, so before the
// library says who we are. For libraries that verify another name than the one in the address, or not always.
//
//   const auto checks = verify_library(settings, host);
//   {
//       const library_tls::scope here{checks.get()};   // TLS that this thread makes meanwhile is verified
//       library_connects();
//   }
#pragma once

#include "net/tls.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::net {

// For one thread at a time. It must outlive the library's connection.
class library_tls {
public:
    virtual ~library_tls() = default;

    virtual bool used() const noexcept = 0;  // false: the library has made no TLS, or not with our OpenSSL
    virtual const std::string& objection() const noexcept = 0;  // why the server's certificate was rejected
    // Why the server broke off, in its words: "certificate expired", of ours.
    virtual const std::string& alert() const noexcept = 0;

    // Not nested. Null: nothing is verified.
    class scope {
    public:
        explicit scope(library_tls* checks) noexcept : checks_(checks) {
            if (checks_ != nullptr) checks_->watch(true);
        }
        ~scope() {
            if (checks_ != nullptr) checks_->watch(false);
        }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        library_tls* const checks_;
    };

private:
    virtual void watch(bool on) noexcept = 0;
};

// Throws errc::unsupported if this build has no TLS.
std::unique_ptr<library_tls> verify_library(const tls_settings& settings, const std::string& host);

// As OpenSSL names itself, "OpenSSL 3.0.11": a library that uses another cannot be watched.
std::string openssl_version();

}  // namespace mortise::inline v0::net
