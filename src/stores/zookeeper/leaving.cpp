// How a claim ends: released, expired, or after all.
#include "stores/zookeeper/claims.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::stores::zookeeper {
namespace {

// How long the answer to a release is kept, for those who ask again.
constexpr std::chrono::seconds remembered_for{15};

}  // namespace

void claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    later say;
    const std::scoped_lock guard{mutex_};
    if (const auto it = released_.find(id); it != released_.end())
        return say([done = std::move(done), how = it->second.how]() mutable { done(how); });
    entry_ptr e = known(id);
    if (!e) {
        e = std::make_shared<entry>();
        e->name = name;
        e->line = names_.line(name);
        e->id = id;
        e->released.push_back(std::move(done));
        return release_another(e);
    }
    e->released.push_back(std::move(done));
    const bool asked_before = std::exchange(e->leaving, true);
    if (!e->looking) return proceed(e, say);
    if (asked_before) nudge();
}

void claims::leave(const entry_ptr& e) {
    e->looking = true;
    servers_.remove(e->node, [this, e](const outcome& how) {
        later say;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (how == outcome::kind::unsure) e->removal_unsure = true;
        if (how == outcome::kind::over || how == outcome::kind::no_node) {
            e->node.clear();
            if (how == outcome::kind::no_node && e->removal_unsure) return left(e, spi::release_answer::released, say);
            return find_out_who_holds(e);
        }
        if (!how.ok()) return failed(e, how, say);
        if (e->ended) return find_out_who_holds(e);
        left(e, spi::release_answer::released, say);
    });
}

// A release that came too late: has anybody taken the lock since?
void claims::find_out_who_holds(const entry_ptr& e) {
    if (e->released.empty()) {
        entries_.erase(e->id);
        return;
    }
    e->looking = true;
    list(e->line, false, [this, e](const outcome& how, const line_seen& line, later& say) {
        e->looking = false;
        if (!how.ok() && how.is != outcome::kind::no_node) return failed(e, how, say);
        left(e, line.nodes.empty() ? spi::release_answer::expired : spi::release_answer::taken_over, say);
    });
}

// An id that is not ours: whoever made it, its node is to go.
void claims::release_another(const entry_ptr& e) {
    e->leaving = true;
    e->unsure = true;
    entries_.emplace(e->id, e);
    read_line(e, [this, e](const outcome& how, const line_seen& line, later& say) {
        if (!how.ok()) {
            failed(e, how, say);
            entries_.erase(e->id);
            return;
        }
        e->unsure = false;
        if (const node_name* mine = line.find(e->id)) {
            e->node = e->line + "/" + mine->name;
            return leave(e);
        }
        left(e, line.nodes.empty() ? spi::release_answer::expired : spi::release_answer::taken_over, say);
    });
}

void claims::left(const entry_ptr& e, spi::release_answer how, later& say) {
    entries_.erase(e->id);
    remember(e->id, how);
    answer(e, {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled}, say);
    auto asked = std::exchange(e->released, {});
    for (auto& one : asked) say([done = std::move(one), how]() mutable { done(how); });
}

void claims::remember(const claim_id& id, spi::release_answer how) {
    const spi::time_point now = around_.clock.now();
    if (now - tidied_ > remembered_for) {
        std::erase_if(released_, [&](const auto& one) { return one.second.until < now; });
        tidied_ = now;
    }
    released_.insert_or_assign(id, memory{how, now + remembered_for});
}

// Nobody counts on it any more.
void claims::expire(const entry_ptr& e) {
    e->leaving = true;
    e->ended = true;
    if (!e->looking) leave(e);
}

}  // namespace mortise::inline v0::stores::zookeeper
