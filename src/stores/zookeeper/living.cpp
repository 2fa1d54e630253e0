// How the session is kept alive, and what its fate means for what is held.
#include "stores/zookeeper/claims.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::stores::zookeeper {

void claims::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    using enum spi::renewal_answer;
    std::vector<spi::renewal_answer> answers;
    answers.reserve(due.size());
    {
        const std::scoped_lock guard{mutex_};
        const spi::time_point now = around_.clock.now();
        for (const spi::renewal& one : due) {
            const entry_ptr e = known(one.id);
            if (!e || !e->held || e->leaving) {
                answers.push_back(e && e->leaving && !e->ended ? unknown : lost);
            } else if (window_.until() < now + one.lease) {
                answers.push_back(unknown);
            } else {
                e->until = std::max(e->until, now + one.lease);
                answers.push_back(renewed);
            }
        }
    }
    done(std::move(answers));
}

void claims::begun(std::int64_t id, spi::time_point asked, spi::duration timeout) {
    {
        const std::scoped_lock guard{mutex_};
        session_ = id;
        window_.begin(asked, timeout);
    }
    if (!closed_) beat();
}

void claims::back(spi::duration timeout) {
    if (closed_) return;
    {
        later say;
        const std::scoped_lock guard{mutex_};
        window_.go_on(timeout);
        std::vector<entry_ptr> all;
        for (const auto& [id, e] : entries_)
            if (e->leaving && !e->looking) all.push_back(e);
        for (const entry_ptr& e : all) proceed(e, say);
        watch_holds_later();
    }
    around_.events.reconnected();
}

// The servers have removed all our nodes.
void claims::ended() {
    if (closed_) return;
    later say;
    const std::scoped_lock guard{mutex_};
    session_ = 0;
    window_.end();
    watches_.clear();
    std::vector<entry_ptr> all;
    for (const auto& [id, e] : entries_) all.push_back(e);
    for (const entry_ptr& e : all) {
        e->unsure = false;
        e->node.clear();
        if (e->looking) continue;
        if (e->held || e->queued || e->leaving) vanished(e, say);
    }
}

// Tells the servers that we live, and hears from the leader for how long they will believe it.
void claims::beat() {
    const spi::time_point sent = around_.clock.now();
    servers_.sync([this, sent](const outcome& how) {
        if (!how.ok()) return;
        const std::scoped_lock guard{mutex_};
        window_.answered(sent);
    });
    const std::scoped_lock guard{mutex_};
    std::vector<entry_ptr> over;
    for (const auto& [id, e] : entries_)
        if (e->held && !e->leaving && e->until < sent) over.push_back(e);
    for (const entry_ptr& e : over) expire(e);
    beat_later();
}

void claims::beat_later() {
    if (closed_ || session_ == 0) return;
    if (beating_ != 0) around_.clock.cancel(beating_);
    beating_ = around_.clock.at(around_.clock.now() + window_.beat(), [this] {
        if (!closed_) beat();
    });
}

std::optional<spi::duration> claims::session_timeout() const {
    const std::scoped_lock guard{mutex_};
    return session_ != 0 ? std::optional{window_.timeout()} : std::nullopt;
}

// Whoever waits for an answer is not answered any more: the replies go, and with them what they keep alive.
void claims::close() noexcept {
    if (closed_.exchange(true)) return;
    std::unordered_map<claim_id, entry_ptr> forgotten;
    std::unordered_map<std::string, listing> unread;
    const std::scoped_lock guard{mutex_};
    if (beating_ != 0) around_.clock.cancel(beating_);
    forgotten.swap(entries_);
    unread.swap(listings_);
}

}  // namespace mortise::inline v0::stores::zookeeper
