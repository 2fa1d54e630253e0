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

struct library_tls::inside {
    std::string none;
};

library_tls::library_tls(const tls_settings&, const std::string&) {
    refuse();
}
library_tls::~library_tls() = default;
library_tls::scope::scope(library_tls&) noexcept : outer_(nullptr) {}
library_tls::scope::~scope() {
    static_cast<void>(outer_);
}
bool library_tls::used() const noexcept {
    return false;
}
const std::string& library_tls::objection() const noexcept {
    return inside_->none;
}
const std::string& library_tls::alert() const noexcept {
    return inside_->none;
}
std::string library_tls::version() {
    return {};
}

}  // namespace mortise::inline v0::net
