// Redis servers of a test with sentinels.
#pragma once

#include "stores/redis/servers/server.hpp"
#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

// A master with two replicas, and three sentinels that watch it.
class with_sentinels {
public:
    static constexpr const char* name = "main";  // of the master, for those who ask a sentinel

    // A server that is silent for so long is taken for dead.
    explicit with_sentinels(std::chrono::milliseconds silence = std::chrono::seconds{1});

    fleet& nodes() { return nodes_; }
    fleet& sentinels() { return sentinels_; }
    std::string addresses() const;  // of the sentinels, "host:port,host:port,host:port"

    // The one that most sentinels name and that agrees; none in between.
    server* master();
    std::vector<server*> keepers() { return {master()}; }  // of the data
    server& await_master_other_than(const server& old);

    // Until everything is as in the beginning, but for who is the master. Everything must run.
    void await_settled();

private:
    bool settled();

    testing::server_group home_;
    fleet nodes_;
    fleet sentinels_;
};

}  // namespace mortise::inline v0::stores::redis::servers
