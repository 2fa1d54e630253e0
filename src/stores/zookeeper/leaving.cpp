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
    deferred_calls say;
    const std::scoped_lock guard{mutex_};
    if (const auto it = released_.find(id); it != released_.end())
        return say([done = std::move(done), reply = it->second.reply]() mutable { done(reply); });
    claim_ptr claim = known(id);
    if (!claim) {
        claim = std::make_shared<node_claim>();
        claim->name = name;
        claim->line = names_.line(name);
        claim->id = id;
        claim->released.push_back(std::move(done));
        return release_another(claim);
    }
    claim->released.push_back(std::move(done));
    const bool asked_before = std::exchange(claim->leaving, true);
    if (!claim->busy) return proceed(claim, say);
    if (asked_before) nudge();
}

void claims::leave(const claim_ptr& claim) {
    claim->busy = true;
    servers_.remove(claim->node, [this, claim](const request_status& status) {
        deferred_calls say;
        const std::scoped_lock guard{mutex_};
        claim->busy = false;
        if (status == request_status::kind::unsure) claim->removal_unsure = true;
        if (status == request_status::kind::expired || status == request_status::kind::no_node) {
            claim->node.clear();
            if (status == request_status::kind::no_node && claim->removal_unsure)
                return left(claim, spi::release_answer::released, say);
            return find_out_who_holds(claim);
        }
        if (!status.ok()) return failed(claim, status, say);
        if (claim->ended) return find_out_who_holds(claim);
        left(claim, spi::release_answer::released, say);
    });
}

// A release that came too late: has anybody taken the lock since?
void claims::find_out_who_holds(const claim_ptr& claim) {
    if (claim->released.empty()) {
        entries_.erase(claim->id);
        return;
    }
    list(claim, false, [this, claim](const request_status& status, const line_listing& line, deferred_calls& say) {
        if (!status.ok() && status.is != request_status::kind::no_node) return failed(claim, status, say);
        left(claim, line.nodes.empty() ? spi::release_answer::expired : spi::release_answer::taken_over, say);
    });
}

// An id that is not ours: whoever made it, its node is to go.
void claims::release_another(const claim_ptr& claim) {
    claim->leaving = true;
    claim->unsure = true;
    entries_.emplace(claim->id, claim);
    read_line(claim, [this, claim](const request_status& status, const line_listing& line, deferred_calls& say) {
        if (!status.ok()) {
            failed(claim, status, say);
            entries_.erase(claim->id);
            return;
        }
        claim->unsure = false;
        if (const node_name* mine = line.find(claim->id)) {
            claim->node = claim->line + "/" + mine->name;
            return leave(claim);
        }
        left(claim, line.nodes.empty() ? spi::release_answer::expired : spi::release_answer::taken_over, say);
    });
}

void claims::left(const claim_ptr& claim, spi::release_answer reply, deferred_calls& say) {
    entries_.erase(claim->id);
    remember(claim->id, reply);
    answer(claim, {.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled}, say);
    auto asked = std::exchange(claim->released, {});
    for (auto& one : asked) say([done = std::move(one), reply]() mutable { done(reply); });
}

void claims::remember(const claim_id& id, spi::release_answer reply) {
    const spi::time_point now = context_.clock.now();
    if (now - tidied_ > remembered_for) {
        std::erase_if(released_, [&](const auto& one) { return one.second.until < now; });
        tidied_ = now;
    }
    released_.insert_or_assign(id, memory{reply, now + remembered_for});
}

// Nobody counts on it any more.
void claims::expire(const claim_ptr& claim) {
    claim->leaving = true;
    claim->ended = true;
    if (!claim->busy) leave(claim);
}

}  // namespace mortise::inline v0::stores::zookeeper
