#include "stores/zookeeper/keepers.hpp"

#include <functional>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {

void keepers::listen(const std::string& path, unique_function<void(const line_listing*)> seen) {
    servers_.watch_children(
        path, [this, seen = std::move(seen)](const request_status& status, const std::vector<std::string>& children,
                                             const node_stat& stat) mutable {
            if (!status.ok()) return seen(nullptr);
            const line_listing now{.nodes = names_.read_line(children), .floor = stat};
            seen(&now);
        });
}

void keepers::ask(const std::string& path, const node_stat& floor, const std::string& node) {
    using kind = session::operation::kind;
    const std::size_t place = std::hash<std::string>{}(path) % told_->latest.size();
    {
        const std::scoped_lock guard{told_->mutex};
        if (std::exchange(told_->latest[place], node) == node) return;
    }
    const std::string sign = path + "/somebody-asks";
    const std::string mark = exchanged(floor) ? std::string{} : std::string{asked_mark};
    // As long as that node is there, the line's is the one that was read.
    servers_.transact({{.is = kind::check, .path = node},
                       {.is = kind::set, .path = path, .data = mark, .version = floor.version},
                       {.is = kind::create, .path = sign},
                       {.is = kind::remove, .path = sign}},
                      [told = told_, place, node](const request_status& status, const std::string&, const node_stat&) {
                          const std::scoped_lock guard{told->mutex};
                          if (!status.ok() && told->latest[place] == node) told->latest[place].clear();
                      });
}

}  // namespace mortise::inline v0::stores::zookeeper
