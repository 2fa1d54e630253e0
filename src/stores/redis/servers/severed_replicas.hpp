// Replicas of a test that their master cannot reach.
#pragma once

#include "stores/redis/servers/server.hpp"

#include <mortise/config.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

// The replicas get nothing that the master is told from now on: not when they wake either, as what is on its way to them is
// lost with the connection.
class severed_replicas {
public:
    severed_replicas(server& master, const fleet& all) {
        const std::string port = std::to_string(master.port());
        for (const auto& one : all)
            if (one.get() != &master && one->field({"info", "replication"}, "master_port") == port)
                replicas_.push_back(one.get());
        for (server* one : replicas_) one->freeze();
        master.command({"client", "kill", "type", "replica"});
    }
    ~severed_replicas() { heal(); }

    std::size_t count() const { return replicas_.size(); }
    void heal() {
        for (server* one : replicas_)
            if (!one->awake()) one->thaw();
    }

private:
    std::vector<server*> replicas_;
};

}  // namespace mortise::inline v0::stores::redis::servers
