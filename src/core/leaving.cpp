// How grants are passed on and given back, and how a client ends. See engine.hpp for the picture.
#include "base/limits.hpp"
#include "core/engine.hpp"
#include "core/farewell.hpp"
#include "core/io_clock.hpp"
#include "core/notifier_thread.hpp"
#include "core/watchdog.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {
namespace {

// For its owner a hold that had ended is never `released`, though the store may not have noticed yet.
release_result read(std::optional<spi::release_answer> said, bool was_lost) noexcept {
    if (!said) return release_result::unknown;
    switch (*said) {
        case spi::release_answer::released:
            return was_lost ? release_result::expired : release_result::released;
        case spi::release_answer::expired:
            return release_result::expired;
        case spi::release_answer::taken_over:
            return release_result::taken_over;
        case spi::release_answer::unknown:
            break;
    }
    return release_result::unknown;
}

}  // namespace

std::shared_ptr<farewell> engine::goodbye(const cohort& c, spi::time_point now) {
    const auto life = c.terms.lease.value_or(options_.patience);
    return std::make_shared<farewell>(c.home, c.terms.name, c.id, now + life);
}

bool engine::may_pass_on(const cohort& c, spi::time_point now) const {
    if (!c.terms.shareable || c.line.empty() || c.turn + 1u >= options_.hand_over_turns) return false;
    if (c.lease.now_is() != lease::state::held) return false;
    const auto life = c.lease.life();
    return !life || c.lease.deadline() - now >= *life / 2;
}

void engine::pass_on(const std::shared_ptr<cohort>& c, spi::time_point now, errands& todo) {
    todo.granted = std::move(c->line.front());
    c->line.pop_front();
    claimant& next = *todo.granted;
    next.cohort = c;
    next.turn = c->turn;
    todo.granted_after = now - std::exchange(next.since, now);
    next.is = claimant::phase::holding;
    c->holder = todo.granted;
}

release_result engine::release(const std::shared_ptr<claimant>& who, std::error_code& ec) noexcept {
    ec.clear();
    if (forked()) {
        ec = errc::forked;
        return release_result::unknown;
    }
    errands todo;
    const auto c = who->cohort;
    shard& s = shard_of(*c);
    std::shared_ptr<farewell> asked;
    std::unique_ptr<claimant::watch> watched;  // the user's: destroyed after the lock
    bool was_lost = false;
    spi::duration held_for{};
    {
        std::scoped_lock guard{s.mutex};
        if (closed_.load() && who->is.exchange(claimant::phase::over) == claimant::phase::holding) who->closed = true;
        if (who->is.load() != claimant::phase::holding) {
            ec = who->closed ? errc::closed : who->releasing ? errc::busy : errc{};
            return who->result;
        }
        const spi::time_point now = todo.now = clock_->now();
        who->is = claimant::phase::over;
        who->releasing = true;
        watched = std::move(who->watched);
        held_for = now - who->since;
        c->holder.reset();
        was_lost = c->is == cohort::state::ended || now >= c->lease.deadline();
        if (!was_lost && may_pass_on(*c, now)) {
            ++c->turn;
            pass_on(c, now, todo);
            who->result = release_result::released;
            who->releasing = false;
        } else {
            asked = todo.goodbye = goodbye(*c, now);
            if (c->is == cohort::state::held) {
                end(c);
                succeed(c, todo);
            }
        }
    }
    run(todo);
    release_result result = release_result::released;
    if (asked) {
        const spi::duration spent = clock_->now() - todo.now;  // the store may have kept us
        result = read(asked->wait(options_.release_wait - spent), was_lost);
        if (result == release_result::unknown) ec = errc::unreachable;
        who->result = result;
        who->releasing = false;
    }
    emit(event_kind::released, c->terms.name, token::of(c->counter, who->turn),
         was_lost ? make_error_code(errc::lost) : ec, held_for);
    return result;
}

release_result engine::release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept {
    ec.clear();
    if (forked() || closed_.load()) {
        ec = forked() ? errc::forked : errc::closed;
        return release_result::unknown;
    }
    try {
        base::check_name(name);
    } catch (const error& e) {
        ec = e.code();
        return release_result::unknown;
    }
    // Ours, and alive: its owner is to know.
    std::shared_ptr<claimant> owner;
    {
        const name_key key{name};
        shard& s = shard_of(key);
        std::scoped_lock guard{s.mutex};
        if (const auto c = s.find(key, id)) owner = c->holder.lock();
    }
    if (owner) return release(owner, ec);
    const auto asked = std::make_shared<farewell>(shared_from_this(), std::string(name), id, clock_->now());
    asked->send();
    const release_result result = read(asked->wait(options_.release_wait), false);
    if (result == release_result::unknown) ec = errc::unreachable;
    return result;
}

void engine::let_go(const std::shared_ptr<claimant>& who) noexcept {
    if (!who->cohort->terms.detached) {
        std::error_code ignored;
        release(who, ignored);
        return;
    }
    const auto c = who->cohort;
    std::scoped_lock guard{shard_of(*c).mutex};
    if (who->is.exchange(claimant::phase::over) == claimant::phase::holding && c->is == cohort::state::held) end(c);
}

void engine::said_goodbye(int more) noexcept {
    if (goodbyes_.fetch_add(more) + more > 0 || !closed_.load()) return;
    std::scoped_lock guard{quiet_mutex_};
    quiet_.notify_all();
}

void engine::close() noexcept {
    if (closed_.exchange(true)) return;
    // One deadline for everything. What is not sent by then ends with the store's session, or with its lease.
    const auto until = std::chrono::steady_clock::now() + options_.close_wait;
    const auto left = [&] {
        return std::max<spi::duration>(until - std::chrono::steady_clock::now(), spi::duration::zero());
    };
    std::vector<std::shared_ptr<farewell>> leaving;
    for (shard& s : shards_) {
        errands todo;
        {
            std::scoped_lock guard{s.mutex};
            for (const auto& c : s.all()) {
                const bool kept = c->terms.detached && c->is == cohort::state::held;
                refuse_line(*c, errc::closed, {}, todo);
                if (const auto holder = c->holder.lock()) {
                    holder->is = claimant::phase::over;
                    holder->closed = true;
                }
                if (!kept) leaving.push_back(goodbye(*c, clock_->now()));
                end(c);
            }
        }
        run(todo);
    }
    for (const auto& one : leaving)
        if (left() > spi::duration::zero()) one->send();
    leaving.clear();
    {
        std::unique_lock guard{quiet_mutex_};
        quiet_.wait_for(guard, left(), [&] { return goodbyes_ == 0; });
    }
    shut_.store(true);
    watchdog_->stop();
    if (own_clock_ != nullptr) own_clock_->stop();
    store_->close();
    if (own_notifier_ != nullptr) own_notifier_->stop(left());
}

}  // namespace mortise::inline v0::core
