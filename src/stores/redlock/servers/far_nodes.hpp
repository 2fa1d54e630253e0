// The servers of a test, whose answers come late.
#pragma once

#include "checker/faults/tcp_proxy.hpp"
#include "stores/redlock/servers/nodes.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

namespace mortise::inline v0::stores::redlock::servers {

class far_nodes {
public:
    far_nodes(nodes& near, std::chrono::milliseconds late) {
        for (std::size_t i = 0; i < near.size(); ++i)
            proxies_.emplace_back(near[i].port()).delay(testing::way::to_client, late);
    }

    std::string host(std::size_t i) const { return "127.0.0.1:" + std::to_string(proxies_[i].port()); }
    std::string hosts() const {
        std::string all = host(0);
        for (std::size_t i = 1; i < proxies_.size(); ++i) all += "," + host(i);
        return all;
    }

private:
    std::deque<testing::tcp_proxy> proxies_;
};

}  // namespace mortise::inline v0::stores::redlock::servers
