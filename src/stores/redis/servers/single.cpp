#include "stores/redis/servers/single.hpp"

#include "stores/redis/servers/starting.hpp"

namespace mortise::inline v0::stores::redis::servers {

single::single(const std::vector<std::string>& lines, const std::vector<std::string>& run_by) {
    with_free_ports([&] {
        node_ = nullptr;
        node_ = std::make_unique<server>(
            home_, server::setup{.name = "redis", .port = free_port(), .lines = lines, .run_by = run_by});
        node_->await_ready();
    });
}

}  // namespace mortise::inline v0::stores::redis::servers
