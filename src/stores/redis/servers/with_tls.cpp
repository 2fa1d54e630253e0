#include "stores/redis/servers/with_tls.hpp"

#include "stores/redis/servers/starting.hpp"

namespace mortise::inline v0::stores::redis::servers {

with_tls::with_tls(const std::string& rights) {
    with_free_ports([&] {
        node_ = nullptr;
        node_ = std::make_unique<server>(
            home_,
            server::setup{.name = "redis",
                          .port = free_port(),
                          .tls = true,
                          .lines = {"tls-cert-file " + files_.server.certificate, "tls-key-file " + files_.server.key,
                                    "tls-ca-cert-file " + files_.authority, "tls-auth-clients optional",
                                    "user default off", "user admin on >admin ~* &* +@all",
                                    std::string("user ") + user + " on >" + password + " " + rights},
                          .user = "admin",
                          .password = "admin"});
        node_->await_ready();
    });
}

void with_tls::show(const certificates::pair& which) {
    node_->command({"config", "set", "tls-cert-file", which.certificate, "tls-key-file", which.key});
}

void with_tls::demand_certificates(bool whether) {
    node_->command({"config", "set", "tls-auth-clients", whether ? "yes" : "optional"});
}

}  // namespace mortise::inline v0::stores::redis::servers
