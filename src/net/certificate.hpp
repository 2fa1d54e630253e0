// Error messages about certificates.
#pragma once

#include <mortise/config.hpp>

#include <string>

#include <openssl/x509.h>

namespace mortise::inline v0::net {

// Why OpenSSL rejects the certificate, and what to do, in one line. `wanted` is the name it should have, `ca` the file
// of trusted authorities; empty: the system's.
std::string objection_to(X509* certificate, int verify_error, const std::string& wanted, const std::string& ca);

}  // namespace mortise::inline v0::net
