// What to tell people about a certificate.
#pragma once

#include <mortise/config.hpp>

#include <string>

#include <openssl/x509.h>

namespace mortise::inline v0::net {

// Why OpenSSL does not accept it. One line, with what to do; `wanted` is the name it should bear, `ca` the file of those we
// trust, or empty for the system's.
std::string objection_to(X509* certificate, int verify_error, const std::string& wanted, const std::string& ca);

}  // namespace mortise::inline v0::net
