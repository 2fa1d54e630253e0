// The members of a test: one, or three.
#pragma once

#include "stores/etcd/servers/server.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd::servers {

class cluster {
public:
    explicit cluster(std::size_t members, const std::vector<std::string>& more = {});

    std::size_t size() const { return members_.size(); }
    server& member(std::size_t i) { return *members_.at(i); }
    std::string addresses() const;  // "host:port,host:port"

    std::size_t leader();  // waits until there is one

private:
    testing::server_group home_;
    std::vector<std::unique_ptr<server>> members_;
};

}  // namespace mortise::inline v0::stores::etcd::servers
