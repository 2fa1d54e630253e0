#include "stores/etcd/servers/cluster.hpp"

#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <optional>

namespace mortise::inline v0::stores::etcd::servers {

using testing::free_port;

cluster::cluster(std::size_t members, const std::vector<std::string>& more) {
    int starts = 0;
    testing::with_free_ports([&] {
        members_.clear();
        ++starts;
        std::vector<server::setup> all;
        std::string together;
        for (std::size_t i = 0; i < members; ++i) {
            all.push_back({.name = "m" + std::to_string(starts) + "-" + std::to_string(i),
                           .port = free_port(),
                           .peer_port = free_port(),
                           .more = more});
            together += (i == 0 ? "" : ",") + all[i].name + "=http://127.0.0.1:" + std::to_string(all[i].peer_port);
        }
        for (auto& one : all) {
            one.cluster = together;
            members_.push_back(std::make_unique<server>(home_, one));
        }
        for (const auto& one : members_) one->await_ready();
    });
}

std::string cluster::addresses() const {
    std::string all;
    for (const auto& one : members_) all += (all.empty() ? "" : ",") + one->address();
    return all;
}

std::size_t cluster::leader() {
    std::optional<std::size_t> found;
    const auto look = [&] {
        for (std::size_t i = 0; i < members_.size() && !found; ++i) try {
                // "127.0.0.1:2379, 8e9e05c52164694d, 3.4.23, 20 kB, true, false, 2, 4, 4,"
                const std::string said = members_[i]->command("--command-timeout=1s endpoint status");
                if (said.find(" kB, true,") != std::string::npos || said.find(" MB, true,") != std::string::npos)
                    found = i;
            } catch (const std::runtime_error&) {  // it is down, frozen, or knows of no election
            }
        return found.has_value();
    };
    if (!testing::eventually(look, std::chrono::seconds{30})) throw std::runtime_error("etcd: no leader");
    return *found;
}

}  // namespace mortise::inline v0::stores::etcd::servers
