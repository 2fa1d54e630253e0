#include "core/reentry.hpp"

#include <atomic>

namespace mortise::inline v0::core {

owner_key this_thread_key() noexcept {
    // Even: explicit owners are odd (mortise::owner).
    static constinit std::atomic<owner_key> next{2};
    thread_local const owner_key mine = next.fetch_add(2, std::memory_order_relaxed);
    return mine;
}

auto reentry::find(const hashed_name& at, owner_key who) noexcept -> frame* {
    const key_view k{at, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    const auto it = s.frames.find(k);
    return it == s.frames.end() ? nullptr : &it->second;
}

void reentry::insert(const hashed_name& at, owner_key who, frame f) {
    const key_view k{at, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    s.frames.emplace(key{std::string(k.name), k.who, k.mixed}, std::move(f));
}

auto reentry::leave(const hashed_name& at, owner_key who) noexcept -> departure {
    const key_view k{at, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    const auto it = s.frames.find(k);
    if (it == s.frames.end()) return {};
    if (--it->second.depth > 0) return {.inside = &it->second};
    departure last{.last = std::move(it->second)};
    s.frames.erase(it);
    return last;
}

mortise::hold reentry::replace(frame& f, const hashed_name& at, owner_key who, mortise::hold by,
                               std::uint32_t weight) noexcept {
    std::scoped_lock guard{shard_of(key_view{at, who}).mutex};
    std::swap(f.hold, by);
    f.weight = weight;
    return by;
}

void reentry::each_of(const std::unordered_set<owner_key>& owners,
                      const std::function<void(const std::string&, owner_key, const frame&)>& visit) {
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (const auto& [at, f] : s.frames)
            if (owners.contains(at.who)) visit(at.name, at.who, f);
    }
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
