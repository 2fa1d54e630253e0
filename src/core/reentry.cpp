#include "core/reentry.hpp"

#include <utility>

namespace mortise::inline v0::core {

owner_key this_thread_key() noexcept {
    // Even: explicit owners are odd (mortise::owner).
    static constinit std::atomic<owner_key> next{2};
    thread_local const owner_key mine = next.fetch_add(2, std::memory_order_relaxed);
    return mine;
}

auto reentry::table::link_to(const key_view& k) noexcept -> entry** {
    entry** link = &bucket(k.mixed);
    while (*link != nullptr && ((*link)->who != k.who || (*link)->at.hold.name() != k.name)) link = &(*link)->next;
    return link;
}

void reentry::table::insert(loose_frame f) {
    if (size_ >= buckets_.size()) grow();
    entry*& first = bucket(f->mixed);
    f->next = first;
    first = f.release();
    ++size_;
}

auto reentry::table::extract(entry** link) noexcept -> loose_frame {
    loose_frame taken{*link};
    *link = taken->next;
    --size_;
    return taken;
}

void reentry::table::grow() {
    std::vector<entry*> before(buckets_.size() * 2);
    before.swap(buckets_);
    for (entry* e : before)
        while (e != nullptr) {
            entry* const moved = std::exchange(e, e->next);
            moved->next = std::exchange(bucket(moved->mixed), moved);
        }
}

void reentry::table::each(const std::function<void(const entry&)>& visit) const {
    for (const entry* e : buckets_)
        for (; e != nullptr; e = e->next) visit(*e);
}

void reentry::table::extract_if(const std::function<bool(const entry&)>& which, std::vector<loose_frame>& into) {
    for (entry*& first : buckets_)
        for (entry** link = &first; *link != nullptr;) {
            if (!which(**link)) {
                link = &(*link)->next;
                continue;
            }
            into.push_back(extract(link));
        }
}

reentry::table::~table() {
    for (entry* e : buckets_)
        while (e != nullptr) loose_frame{std::exchange(e, e->next)};
}

auto reentry::find(const hashed_name& at, owner_key who) noexcept -> frame* {
    const key_view k{at, who};
    shard& s = shard_of(k);
    if (s.count.load(std::memory_order_relaxed) == 0) return nullptr;
    std::scoped_lock guard{s.mutex};
    entry* const found = *s.frames.link_to(k);
    return found != nullptr ? &found->at : nullptr;
}

void reentry::insert(const hashed_name& at, owner_key who, frame&& f) {
    insert(at, who, std::make_unique<entry>(std::move(f)));
}

void reentry::insert(const hashed_name& at, owner_key who, loose_frame f) {
    const key_view k{at, who};
    f->who = k.who;
    f->mixed = k.mixed;
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    s.frames.insert(std::move(f));
    s.counted();
}

auto reentry::leave(const hashed_name& at, owner_key who) noexcept -> departure {
    const key_view k{at, who};
    shard& s = shard_of(k);
    std::scoped_lock guard{s.mutex};
    entry** const link = s.frames.link_to(k);
    if (*link == nullptr) return {};
    if (frame& inner = (*link)->at; --inner.depth > 0) return {.inside = &inner};
    departure gone{.last = s.frames.extract(link)};
    s.counted();
    return gone;
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
        s.frames.each([&](const entry& one) {
            if (owners.contains(one.who)) visit(one.at.hold.name(), one.who, one.at);
        });
    }
}

auto reentry::extract_through(const void* object) -> std::vector<loose_frame> {
    std::vector<loose_frame> taken;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        s.frames.extract_if([&](const entry& one) { return one.at.through == object; }, taken);
        s.counted();
    }
    return taken;
}

}  // namespace mortise::inline v0::core
