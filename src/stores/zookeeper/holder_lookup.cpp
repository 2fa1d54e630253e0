#include "stores/zookeeper/holder_lookup.hpp"

#include "stores/zookeeper/holders.hpp"

#include <utility>

namespace mortise::inline v0::stores::zookeeper {

void look_up_holder(session& servers, const std::string& node,
                    unique_function<void(const request_status&, std::optional<holder>, bool)> done) {
    servers.read(node.empty() ? "/" : node, false,
                 [node, done = std::move(done)](const request_status& status, const std::string& data,
                                                const node_stat& stat) mutable {
                     if (!status.ok() || node.empty()) return done(status, std::nullopt, false);
                     holder found = read_holder(data);
                     found.token = token::of(stat.counter(), 0);
                     done(status, std::move(found), keeps_idle(data));
                 });
}

}  // namespace mortise::inline v0::stores::zookeeper
