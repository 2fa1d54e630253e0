#include "stores/zookeeper/line_node.hpp"

#include <utility>

namespace mortise::inline v0::stores::zookeeper {

void create_line_node(session& servers, const std::string& root, const std::string& line,
                      unique_function<void(const request_status&)> done) {
    for (std::size_t at = line.find('/', 1); at != std::string::npos; at = line.find('/', at + 1))
        servers.create(line.substr(0, at), {}, at <= root.size() ? session::kind::persistent : session::kind::container,
                       [](const request_status&, const std::string&, const node_stat&) {});
    servers.create(
        line, {}, session::kind::container,
        [done = std::move(done)](const request_status& status, const std::string&, const node_stat&) mutable {
            done(status == request_status::kind::exists ? request_status{} : status);
        });
}

}  // namespace mortise::inline v0::stores::zookeeper
