#include "core/reentry.hpp"

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
    if (s.count.load(std::memory_order_relaxed) == 0) return nullptr;
    std::scoped_lock guard{s.mutex};
    const auto it = s.frames.find(k);
    return it == s.frames.end() ? nullptr : &it->at;
}

void reentry::insert(const hashed_name& at, owner_key who, frame&& f) {
    const key_view k{at, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    s.frames.emplace(k, std::move(f));
    s.counted();
}

auto reentry::leave(const hashed_name& at, owner_key who) noexcept -> departure {
    const key_view k{at, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    const auto it = s.frames.find(k);
    if (it == s.frames.end()) return {};
    if (--it->at.depth > 0) return {.inside = &it->at};
    departure last{.last = std::move(it->at)};
    s.frames.erase(it);
    s.counted();
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
        for (const entry& one : s.frames)
            if (owners.contains(one.who)) visit(one.at.hold.name(), one.who, one.at);
    }
}

auto reentry::extract_through(const void* object) -> std::vector<frame> {
    std::vector<frame> taken;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (auto it = s.frames.begin(); it != s.frames.end();) {
            if (it->at.through != object) {
                ++it;
                continue;
            }
            taken.push_back(std::move(it->at));
            it = s.frames.erase(it);
        }
        s.counted();
    }
    return taken;
}

}  // namespace mortise::inline v0::core
