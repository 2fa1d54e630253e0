// The name that a server's certificate must be for. Only for builds with OpenSSL.
#pragma once

#include <mortise/config.hpp>

#include <string>

#include <openssl/ssl.h>

namespace mortise::inline v0::net {

struct peer_name {
    std::string text;
    bool address = false;
};

// The host, unless another was given.
peer_name name_to_check(const std::string& server_name, const std::string& host);

// Has OpenSSL check it in the handshake, and tell the server. False: a certificate cannot be for such a name.
bool demand(SSL* of, const peer_name& wanted);

}  // namespace mortise::inline v0::net
