// TLS over a transport. Uses OpenSSL; a build without it refuses TLS.
#pragma once

#include "net/transport.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::net {

class tls_context;

struct tls_settings {
    bool on = false;
    std::string ca{};           // empty: the system's
    std::string certificate{};  // the client's, if the server asks for one
    std::string key{};
    std::string server_name{};                    // to verify instead of the host
    std::string protocol{};                       // that the server must accept (ALPN); empty: none
    std::shared_ptr<const tls_context> loaded{};  // the contents of the files

    std::string if_plain{};   // remedy if the server does not speak TLS
    std::string if_old{};     // remedy if its TLS version is too old
    std::string if_silent{};  // remedy if it does not answer and may not speak TLS
    std::string if_needed{};  // remedy if it may require TLS, and this is off
};

bool has_tls() noexcept;  // whether this build has TLS

// Loads the files, once per store. Throws mortise::error: bad_url if one cannot be read, `unsupported` if this build
// has no TLS. The key is never shown.
std::shared_ptr<const tls_context> load(const tls_settings& files);

// TLS over a socket, as the settings say. Checks the chain and that the certificate is for `host`.
std::unique_ptr<transport> with_tls(std::unique_ptr<transport> under, const tls_settings& settings,
                                    const std::string& host);

}  // namespace mortise::inline v0::net
