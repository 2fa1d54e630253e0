// In place of tls.cpp where OpenSSL was not there to build with.
#include "stores/redis/tls.hpp"
#include "stores/redis/transport.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::stores::redis {
namespace {

[[noreturn]] void refuse() {
    throw error(errc::unsupported,
                "this build has no TLS; install OpenSSL (libssl-dev) and build again with -DMORTISE_REDIS_TLS=ON");
}

}  // namespace

bool has_tls() noexcept {
    return false;
}

std::shared_ptr<const tls_context> load(const tls_settings&) {
    refuse();
}

std::unique_ptr<transport> with_tls(std::unique_ptr<transport>, const settings&, const std::string&) {
    refuse();
}

}  // namespace mortise::inline v0::stores::redis
