// A Redis server of a test that is not open to everybody.
#pragma once

#include "stores/redis/servers/server.hpp"
#include "support/certificates.hpp"
#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

using testing::certificates;

// One server that speaks TLS only, and lets in nobody but the user `mortise`.
class with_tls {
public:
    static constexpr const char* user = "mortise";
    static constexpr const char* password = "open-sesame";

    // `rights` of the user, as in "~mortise:* &mortise:* -@all +ping".
    explicit with_tls(const std::string& rights);

    server& node() { return *node_; }
    std::vector<server*> keepers() { return {node_.get()}; }  // of the data
    const certificates& files() const { return files_; }

    void show(const certificates::pair& which);     // to who connects from now on
    void demand_certificates(bool whether = true);  // of clients

private:
    testing::server_group home_;
    certificates files_{home_.directory()};
    std::unique_ptr<server> node_;
};

}  // namespace mortise::inline v0::stores::redis::servers
