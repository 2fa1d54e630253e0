#include "stores/zookeeper/permissions.hpp"

#include <mortise/claim_id.hpp>

#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

void check_permissions(session& servers, const std::string& path,
                       unique_function<void(const request_status&, const std::string& path)> done) {
    servers.children(path.empty() ? "/" : path, [&servers, path, done = std::move(done)](
                                                    const request_status& read, const std::vector<std::string>&,
                                                    const node_stat&) mutable {
        if (read == request_status::kind::no_node && !path.empty())
            return check_permissions(servers, path.substr(0, path.rfind('/')), std::move(done));
        if (!read.ok()) return done(read, path);
        // If we may create the node, the transaction fails only because the checked one does not exist, and creates nothing.
        using kind = session::operation::kind;
        const std::string made = path + "/doctor-";
        const std::string not_there = path + "/" + claim_id::random().hex();
        servers.transact(
            {{.is = kind::create_sequential, .path = made}, {.is = kind::check, .path = not_there}},
            [path, done = std::move(done)](const request_status& status, const std::string&, const node_stat&) mutable {
                done(status == request_status::kind::no_node ? request_status{} : status, path);
            });
    });
}

}  // namespace mortise::inline v0::stores::zookeeper
