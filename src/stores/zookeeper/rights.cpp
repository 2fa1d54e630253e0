#include "stores/zookeeper/rights.hpp"

#include <mortise/claim_id.hpp>

#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

void ask_for_rights(session& servers, const std::string& path,
                    unique_function<void(const outcome&, const std::string& path)> done) {
    servers.children(
        path.empty() ? "/" : path, [&servers, path, done = std::move(done)](
                                       const outcome& read, const std::vector<std::string>&, const node_stat&) mutable {
            if (read == outcome::kind::no_node && !path.empty())
                return ask_for_rights(servers, path.substr(0, path.rfind('/')), std::move(done));
            if (!read.ok()) return done(read, path);
            // Whoever may make the node is told that the other one is not there, and neither is.
            using kind = session::change::kind;
            const std::string made = path + "/doctor-";
            const std::string not_there = path + "/" + claim_id::random().hex();
            servers.change_all(
                {{.is = kind::create_in_line, .path = made}, {.is = kind::check, .path = not_there}},
                [path, done = std::move(done)](const outcome& how, const std::string&, const node_stat&) mutable {
                    done(how == outcome::kind::no_node ? outcome{} : how, path);
                });
        });
}

}  // namespace mortise::inline v0::stores::zookeeper
