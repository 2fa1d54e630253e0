// How grants are passed on and given back, and how a client ends. See engine.hpp for the picture.
#include "base/limits.hpp"
#include "core/engine.hpp"
#include "core/farewell.hpp"
#include "core/io_clock.hpp"
#include "core/notifier_thread.hpp"
#include "core/question.hpp"
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
    auto said = std::make_shared<farewell>(c.home, c.terms.name, c.id, release_until(c.terms.lease, now));
    // An upgrade that is given up may have been granted a moment before: then what it was to replace is gone.
    if (c.instead_of) said->then([old = c.instead_of](spi::release_answer) { old->home->confirm(old); });
    return said;
}

// How long a release is worth repeating: as long as the store may keep the claim.
spi::time_point engine::release_until(const std::optional<spi::duration>& lease, spi::time_point now) const {
    const auto kept = store_->keeps_abandoned(lease);
    return kept && *kept < spi::time_point::max() - now ? now + *kept : spi::time_point::max();
}

bool engine::may_pass_on(const cohort& c, spi::time_point now) const {
    if (!c.terms.shareable || c.line.empty() || c.turn + 1u >= options_.hand_over_turns) return false;
    if (c.being_replaced) return false;  // the store may have ended it already
    if (c.lease.now_is() != lease::state::held) return false;
    return c.lease.deadline() - now >= c.lease.span() / 2;
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

// The decision, and everything that does not wait for the store.
engine::parting engine::depart(const std::shared_ptr<claimant>& who, std::error_code& ec) noexcept {
    ec.clear();
    if (forked()) {
        ec = errc::forked;
        return {.result = release_result::unknown, .silent = true};
    }
    errands todo;
    parting left;
    const auto c = who->cohort;
    shard& s = shard_of(*c);
    std::unique_ptr<claimant::watch> watched;  // the user's: destroyed after the lock
    {
        std::scoped_lock guard{s.mutex};
        if (closed_.load() && who->is.exchange(claimant::phase::over) == claimant::phase::holding) who->closed = true;
        if (who->is.load() != claimant::phase::holding) {
            ec = who->closed ? errc::closed : who->releasing ? errc::busy : errc{};
            return {.result = who->result, .silent = true};
        }
        const spi::time_point now = todo.now = left.since = clock_->now();
        who->is = claimant::phase::over;
        who->releasing = true;
        watched = std::move(who->watched);
        left.held_for = now - who->since;
        c->holder.reset();
        left.was_lost = c->is == cohort::state::ended || now >= c->lease.deadline();
        if (!left.was_lost && may_pass_on(*c, now)) {
            ++c->turn;
            pass_on(c, now, todo);
            who->result = release_result::released;
            who->releasing = false;
        } else {
            left.asked = todo.goodbye = goodbye(*c, now);
            if (c->is == cohort::state::held) {
                end(c);
                succeed(c, todo);
            }
        }
    }
    run(todo);
    return left;
}

void engine::departed(claimant& who, const parting& left, std::error_code ec) noexcept {
    if (left.silent) return;
    who.result = left.result;
    who.releasing = false;
    emit(event_kind::released, who.cohort->terms.name, token::of(who.cohort->counter, who.turn),
         left.was_lost ? make_error_code(errc::lost) : ec, left.held_for);
}

release_result engine::release(const std::shared_ptr<claimant>& who, std::error_code& ec) noexcept {
    const blocking_call blocks{*store_};  // a lazy one does not wait, but is in no hurry to be answered either
    parting left = depart(who, ec);
    if (left.asked && who->cohort->terms.lazy && !left.was_lost) {
        const auto said = left.asked->wait(spi::duration::zero());  // it may be there already
        left.result = said ? read(said, false) : release_result::sent;
    } else if (left.asked) {
        const spi::duration spent = clock_->now() - left.since;  // the store may have kept us
        left.result = read(left.asked->wait(options_.release_wait - spent), left.was_lost);
        if (left.result == release_result::unknown) ec = errc::unreachable;
    }
    departed(*who, left, ec);
    return left.result;
}

void engine::start_release(const std::shared_ptr<claimant>& who, release_completion done) {
    std::error_code ec;
    parting left = depart(who, ec);
    if (!left.asked) {
        departed(*who, left, ec);
        return done(left.result, ec);
    }
    const auto asked = std::move(left.asked);
    wait_for(asked, left.was_lost,
             [self = shared_from_this(), who, left, done = std::move(done)](release_result result,
                                                                            std::error_code why) mutable {
                 left.result = result;
                 self->departed(*who, left, why);
                 done(result, why);
             });
}

// Of a claim whose lease we do not know.
std::shared_ptr<farewell> engine::repeated_while_waiting(std::string_view name, const claim_id& id) {
    return std::make_shared<farewell>(shared_from_this(), std::string(name), id, clock_->now() + options_.release_wait);
}

release_result engine::release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept {
    ec = may_not_ask(name);
    if (ec) return release_result::unknown;
    if (const auto owner = holder_of(name, id)) return release(owner, ec);
    const auto asked = repeated_while_waiting(name, id);
    asked->send();
    const release_result result = read(asked->wait(options_.release_wait), false);
    if (result == release_result::unknown) ec = errc::unreachable;
    return result;
}

void engine::start_release(std::string_view name, const claim_id& id, release_completion done) {
    if (const auto ec = may_not_ask(name)) return done(release_result::unknown, ec);
    if (const auto owner = holder_of(name, id)) return start_release(owner, std::move(done));
    const auto asked = repeated_while_waiting(name, id);
    asked->send();
    wait_for(asked, false, std::move(done));
}

void engine::wait_for(const std::shared_ptr<farewell>& said, bool was_lost, release_completion done) {
    const auto asked = std::make_shared<question<release_result>>(release_result::unknown, std::move(done));
    said->then([self = shared_from_this(), asked, was_lost](spi::release_answer answer) {
        asked->answer(read(answer, was_lost));
        self->forget(asked);
    });
    wait_for(asked, options_.release_wait);
}

std::error_code engine::may_not_ask(std::string_view name) const noexcept {
    if (forked() || closed_.load()) return forked() ? errc::forked : errc::closed;
    try {
        base::check_name(name);
    } catch (const error& e) {
        return e.code();
    }
    return {};
}

// Ours, and alive: its owner is to know.
std::shared_ptr<claimant> engine::holder_of(std::string_view name, const claim_id& id) {
    const name_key key{name};
    shard& s = shard_of(key);
    std::scoped_lock guard{s.mutex};
    const auto c = s.find(key, id);
    return c ? c->holder.lock() : nullptr;
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
    give_up_questions();
    if (own_notifier_ != nullptr) own_notifier_->stop(left());
}

}  // namespace mortise::inline v0::core
