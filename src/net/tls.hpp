// TLS: what all connections of a store share, and a line over it. Built on OpenSSL, or, without it, refusing.
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
    std::string certificate{};  // of ours, if the server asks for one
    std::string key{};
    std::string server_name{};                    // to check instead of the host's
    std::string protocol{};                       // which the other side must speak (ALPN); empty: not asked
    std::shared_ptr<const tls_context> loaded{};  // what the files say

    std::string if_plain{};   // what to tell people whose server does not speak TLS
    std::string if_old{};     // or only such as is too old
    std::string if_silent{};  // or perhaps does not speak it, since it says nothing
    std::string if_needed{};  // or perhaps does, while this is off
};

bool has_tls() noexcept;  // this build

// Reads the files, once for a store. Throws mortise::error: bad_url if one cannot be read, `unsupported` if this build has no
// TLS. The key is never shown.
std::shared_ptr<const tls_context> load(const tls_settings& files);

// TLS over a socket, as the settings say. Checks the chain and that the certificate is for `host`.
std::unique_ptr<transport> with_tls(std::unique_ptr<transport> under, const tls_settings& settings,
                                    const std::string& host);

}  // namespace mortise::inline v0::net
