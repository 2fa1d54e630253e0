// Independent Redis servers of a test.
#pragma once

#include "stores/redis/servers/server.hpp"
#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redlock::servers {

class nodes {
public:
    // `run_by`: the command that starts each, as of movable_clock; none: by itself.
    explicit nodes(std::size_t count, const std::vector<std::vector<std::string>>& run_by = {});

    redis::servers::server& operator[](std::size_t i) { return *all_[i]; }
    std::size_t size() const { return all_.size(); }

    std::string hosts() const;  // host:port,...

    // The keys below a prefix and their values, on one node; without those that only remember a release.
    std::map<std::string, std::string> keys(std::size_t node, const std::string& prefix);

private:
    testing::server_group home_;
    redis::servers::fleet all_;
};

}  // namespace mortise::inline v0::stores::redlock::servers
