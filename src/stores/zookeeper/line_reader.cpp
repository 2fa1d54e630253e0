#include "stores/zookeeper/line_reader.hpp"

#include <memory>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {

void line_reader::read(const std::string& path, bool synced, callback then) {
    const std::scoped_lock guard{mutex_};
    const auto [it, idle] = next_.try_emplace(path);
    it->second.callbacks.push_back(std::move(then));
    it->second.synced = it->second.synced || synced;
    if (idle) send(path);
}

// With mutex_ held.
void line_reader::send(const std::string& path) {
    next_listing& wanted = next_.at(path);
    const auto reached = std::make_shared<request_status>();
    if (std::exchange(wanted.synced, false))
        servers_.sync([reached](const request_status& status) { *reached = status; });
    servers_.children(
        path, [this, path, reached, callbacks = std::exchange(wanted.callbacks, {})](
                  const request_status& status, const std::vector<std::string>& names, const node_stat& stat) mutable {
            {
                const std::scoped_lock guard{mutex_};
                if (const auto it = next_.find(path); it != next_.end()) {
                    if (it->second.callbacks.empty())
                        next_.erase(it);
                    else
                        send(path);
                }
            }
            // Where names are paths, the line's node may be somebody's with data of his own, and nothing is exchanged.
            const line_listing line{.nodes = names_.read_line(names), .floor = names_.nests() ? node_stat{} : stat};
            for (callback& then : callbacks) then(reached->ok() ? status : *reached, line);
        });
}

void line_reader::close() noexcept {
    std::unordered_map<std::string, next_listing> forgotten;
    const std::scoped_lock guard{mutex_};
    forgotten.swap(next_);
}

}  // namespace mortise::inline v0::stores::zookeeper
