// Replaces tls.cpp in builds without OpenSSL.
#include "net/library_tls.hpp"
#include "net/tls.hpp"
#include "net/transport.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::net {
namespace {

[[noreturn]] void refuse() {
    throw error(errc::unsupported,
                "this build has no TLS; install OpenSSL (libssl-dev) and build again with -DMORTISE_TLS=ON");
}

}  // namespace

bool has_tls() noexcept {
    return false;
}

std::shared_ptr<const tls_context> load(const tls_settings&) {
    refuse();
}

std::unique_ptr<transport> with_tls(std::unique_ptr<transport>, const tls_settings&, const std::string&) {
    refuse();
}

std::unique_ptr<library_tls> verify_library(const tls_settings&, const std::string&) {
    refuse();
}

std::string openssl_version() {
    return "no TLS";
}

}  // namespace mortise::inline v0::net
