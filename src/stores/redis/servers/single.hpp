// One Redis server of a test, alone.
#pragma once

#include "stores/redis/servers/server.hpp"
#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

// One server.
class single {
public:
    // More of its configuration, and a command that starts it.
    explicit single(const std::vector<std::string>& lines = {}, const std::vector<std::string>& run_by = {});

    server& node() { return *node_; }
    std::vector<server*> keepers() { return {node_.get()}; }  // of the data

private:
    testing::server_group home_;
    std::unique_ptr<server> node_;
};

}  // namespace mortise::inline v0::stores::redis::servers
