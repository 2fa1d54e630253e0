#include "stores/redlock/servers/nodes.hpp"

#include "stores/redis/servers/starting.hpp"
#include "support/loopback.hpp"

#include <sstream>

namespace mortise::inline v0::stores::redlock::servers {

nodes::nodes(std::size_t count, const std::vector<std::vector<std::string>>& run_by) {
    redis::servers::with_free_ports([&] {
        all_.clear();
        for (std::size_t i = 0; i < count; ++i)
            all_.push_back(std::make_unique<redis::servers::server>(
                home_,
                redis::servers::server::setup{.name = "node" + std::to_string(i),
                                              .port = testing::free_port(),
                                              .run_by = run_by.empty() ? std::vector<std::string>{} : run_by[i]}));
        for (const auto& one : all_) one->await_ready();
    });
}

std::string nodes::hosts() const {
    return redis::servers::addresses_of(all_);
}

std::map<std::string, std::string> nodes::keys(std::size_t node, const std::string& prefix) {
    std::map<std::string, std::string> found;
    std::istringstream names{all_[node]->command({"keys", prefix + "*"})};
    for (std::string key; std::getline(names, key);) {
        std::string value = all_[node]->command({"get", key});
        while (value.ends_with('\n')) value.pop_back();
        if (!value.empty()) found[key] = value;
    }
    return found;
}

}  // namespace mortise::inline v0::stores::redlock::servers
