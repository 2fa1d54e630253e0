#include "stores/zookeeper/keepers.hpp"

#include <functional>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {

void keepers::listen(const std::string& line, std::uint64_t made_by, unique_function<void()> changed) {
    servers_.watch_children(
        line, [made_by, changed = std::move(changed)](const request_status& status, const std::vector<std::string>&,
                                                      const node_stat& stat) mutable {
            if (!status.ok() || stat.children_changed != made_by) changed();
        });
}

void keepers::ask(const std::string& line, const std::string& node) {
    using kind = session::operation::kind;
    const std::size_t place = std::hash<std::string>{}(line) % told_->latest.size();
    {
        const std::scoped_lock guard{told_->mutex};
        if (std::exchange(told_->latest[place], node) == node) return;
    }
    const std::string sign = line + "/somebody-asks";
    servers_.transact({{.is = kind::create, .path = sign}, {.is = kind::remove, .path = sign}},
                      [told = told_, place, node](const request_status& status, const std::string&, const node_stat&) {
                          const std::scoped_lock guard{told->mutex};
                          if (!status.ok() && told->latest[place] == node) told->latest[place].clear();
                      });
}

}  // namespace mortise::inline v0::stores::zookeeper
