#include "core/reentry.hpp"

#include <atomic>

namespace mortise::inline v0::core {

owner_key this_thread_key() noexcept {
    // Even: explicit owners are odd (mortise::owner).
    static std::atomic<owner_key> next{2};
    thread_local const owner_key mine = next.fetch_add(2, std::memory_order_relaxed);
    return mine;
}

auto reentry::find(std::string_view name, owner_key who) noexcept -> frame* {
    const key_view k{name, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    const auto it = s.frames.find(k);
    return it == s.frames.end() ? nullptr : &it->second;
}

void reentry::insert(std::string_view name, owner_key who, frame f) {
    shard& s = shard_of({name, who});
    std::scoped_lock guard{s.mutex};
    s.frames.emplace(key{std::string(name), who}, std::move(f));
}

auto reentry::extract(std::string_view name, owner_key who) noexcept -> frame {
    const key_view k{name, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    const auto it = s.frames.find(k);
    frame taken = std::move(it->second);
    s.frames.erase(it);
    return taken;
}

auto reentry::extract_through(const void* object) -> std::vector<frame> {
    std::vector<frame> taken;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (auto it = s.frames.begin(); it != s.frames.end();) {
            if (it->second.through != object) {
                ++it;
                continue;
            }
            taken.push_back(std::move(it->second));
            it = s.frames.erase(it);
        }
    }
    return taken;
}

}  // namespace mortise::inline v0::core
