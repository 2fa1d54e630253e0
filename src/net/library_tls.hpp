// TLS that a client library sets up by itself, with the OpenSSL that we use: verified as ours is, in the handshake, so before the
// library says who we are. For libraries that verify another name than the one in the address, or not always.
//
//   library_tls checks{settings, host};
//   {
//       const library_tls::scope here{checks};   // TLS that this thread makes meanwhile is verified
//       library_connects();
//   }
//   checks.objection()   why the server's certificate was rejected
//   checks.alert()       why the server broke off, in its words: "certificate expired" of ours
//   checks.used()        false: the library has made no TLS, or not with our OpenSSL
#pragma once

#include "net/tls.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::net {

// For one thread at a time. It must outlive the library's connection.
class library_tls {
public:
    // Throws errc::unsupported if this build has no TLS.
    library_tls(const tls_settings& settings, const std::string& host);
    ~library_tls();

    class scope {
    public:
        explicit scope(library_tls& checks) noexcept;
        ~scope();
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        library_tls* const outer_;
    };

    bool used() const noexcept;
    const std::string& objection() const noexcept;
    const std::string& alert() const noexcept;

    // As OpenSSL names itself, "OpenSSL 3.0.11": a library that uses another cannot be watched.
    static std::string version();

private:
    struct inside;
    const std::unique_ptr<inside> inside_;
};

}  // namespace mortise::inline v0::net
