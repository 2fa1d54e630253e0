#include "net/tls_options.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <string>

namespace mortise::inline v0::net {

void know_tls(base::address_options& known, tls_settings& tls) {
    known["ca"] = [&](const std::string& v) { tls.ca = v; };
    known["cert"] = [&](const std::string& v) { tls.certificate = v; };
    known["key"] = [&](const std::string& v) { tls.key = v; };
    known["server_name"] = [&](const std::string& v) { tls.server_name = v; };
}

void load_tls(const base::url& address, tls_settings& tls) {
    for (const char* option : {"ca", "cert", "key", "server_name"})
        if (!tls.on && address.query.contains(option))
            base::bad_address(address, "ca, cert, key and server_name are for TLS; " + tls.if_needed);
    if (!tls.on) return;
    if (tls.certificate.empty() != tls.key.empty()) base::bad_address(address, "cert and key go together");
    base::expect_private(address, "key", tls.key);
    try {
        tls.loaded = load(tls);
    } catch (const error& e) {
        throw error(e.code(), "store address " + base::quoted(address.masked()) + ": " + e.what());
    }
}

}  // namespace mortise::inline v0::net
