// How grants are kept alive, and what happens when they are not. See engine.hpp for the picture.
#include "core/engine.hpp"
#include "core/watchdog.hpp"

namespace mortise::inline v0::core {

// The watchdog's round: everything that is due for renewal, in one call to the store.
void engine::round(const std::vector<std::shared_ptr<cohort>>& due) {
    if (forked() || shut()) return;
    const spi::time_point now = clock_->now();
    std::vector<std::shared_ptr<cohort>> renewing;
    for (const auto& c : due) {
        errands todo;
        bool waits = false;
        {
            std::scoped_lock guard{shard_of(*c).mutex};
            waits = c->is == cohort::state::asking || c->is == cohort::state::queued;
            if (c->is == cohort::state::held) {
                const bool joins = now < c->lease.due() && now >= c->lease.may_join();
                lease::step step = c->lease.poll(now);
                if (joins) step.renew = c->lease.ask_early(now);
                if (step.renew) renewing.push_back(c);
                apply(c, step, errc::unreachable, todo);
            }
        }
        if (waits) ask_again(c);
        run(todo);
    }
    if (!renewing.empty()) send_renewals(std::move(renewing), now);
}

void engine::send_renewals(std::vector<std::shared_ptr<cohort>> who, spi::time_point sent) {
    std::vector<spi::renewal> batch;
    batch.reserve(who.size());
    for (const auto& c : who) batch.push_back({c->terms.name, c->id, *c->lease.life()});
    store_->renew(batch, [self = shared_from_this(), who = std::move(who),
                          sent](std::vector<spi::renewal_answer> said) { self->renewed(who, sent, said); });
}

void engine::renewed(const std::vector<std::shared_ptr<cohort>>& who, spi::time_point sent,
                     const std::vector<spi::renewal_answer>& said) {
    for (std::size_t i = 0; i < who.size(); ++i) {
        const std::shared_ptr<cohort>& c = who[i];
        auto answer = i < said.size() ? said[i] : spi::renewal_answer::unknown;
        errands todo;
        {
            std::scoped_lock guard{shard_of(*c).mutex};
            if (c->is != cohort::state::held) continue;
            const spi::time_point now = clock_->now();
            const spi::duration slack = c->lease.deadline() - now;
            if (answer == spi::renewal_answer::lost && c->being_replaced) answer = spi::renewal_answer::unknown;
            const lease::step step = c->lease.answered(answer, sent, now);
            if (answer == spi::renewal_answer::renewed && !step.lost)
                emit(event_kind::renewed, c->terms.name, token::of(c->counter, c->turn), {}, slack);
            apply(c, step, answer == spi::renewal_answer::lost ? errc::lost : errc::unreachable, todo);
        }
        run(todo);
    }
}

void engine::apply(const std::shared_ptr<cohort>& c, lease::step step, std::error_code why, errands& todo) {
    if (step.lost) return lose(c, why, todo);
    if (step.at_risk)
        emit(event_kind::at_risk, c->terms.name, token::of(c->counter, c->turn), why,
             c->lease.deadline() - clock_->now());
    c->valid_until.store(c->lease.deadline(), std::memory_order_release);
    watch(c, c->lease.due());
}

// From now on the next look is at `due`: to renew what is held, to ask again for what is not; never at max().
void engine::watch(const std::shared_ptr<cohort>& c, spi::time_point due) {
    if (due != spi::time_point::max()) {
        watchdog_->watch(c, due, c->is == cohort::state::held ? c->lease.may_join() : due);
    } else if (c->watched) {
        watchdog_->forget(*c);
    }
    c->watched = due != spi::time_point::max();
}

// The grant is over while its owner may still believe in it. The owner is told; those in line go on without it.
void engine::lose(const std::shared_ptr<cohort>& c, std::error_code why, errands& todo) {
    todo.lost = c->holder.lock();
    end(c);
    emit(event_kind::lost, c->terms.name, token::of(c->counter, c->turn), why);  // whoever hears it finds valid() false
    succeed(c, todo);
}

// Whether the store still knows a hold, whose loss it would not have told us of.
void engine::confirm(const std::shared_ptr<cohort>& c) {
    const spi::renewal asked{c->terms.name, c->id, spi::duration::zero()};  // extends nothing
    store_->renew({&asked, 1}, [c](std::vector<spi::renewal_answer> said) {
        if (said.empty() || said.front() != spi::renewal_answer::lost) return;
        errands todo;
        {
            std::scoped_lock guard{c->home->shard_of(*c).mutex};
            if (c->is != cohort::state::held || c->being_replaced) return;
            c->home->apply(c, c->lease.revoked(), errc::lost, todo);
        }
        c->home->run(todo);
    });
}

// The store cannot vouch for what it said before: everything is asked again. Not here, on the store's thread.
void engine::reconnected() {
    if (forked() || closed_.load()) return;
    clock_->at(clock_->now(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->verify();
    });
}

void engine::verify() {
    if (forked() || shut()) return;
    const spi::time_point now = clock_->now();
    std::vector<std::shared_ptr<cohort>> renewing;
    std::vector<std::shared_ptr<cohort>> fixed;
    std::vector<std::shared_ptr<cohort>> waiting;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (const auto& c : s.all()) {
            if (c->is == cohort::state::queued) waiting.push_back(c);
            if (c->is != cohort::state::held) continue;
            if (!c->terms.renewed) {
                fixed.push_back(c);
            } else if (c->lease.ask_again(now)) {
                watch(c, c->lease.due());
                renewing.push_back(c);
            }
        }
    }
    if (!renewing.empty()) send_renewals(std::move(renewing), now);
    for (const auto& c : fixed) confirm(c);
    for (const auto& c : waiting) ask(c, now);
}

void engine::renew_early(const claimant& who) {
    const auto c = who.cohort;
    spi::time_point now;
    {
        std::scoped_lock guard{shard_of(*c).mutex};
        now = clock_->now();
        if (c->is != cohort::state::held || !c->lease.ask_early(now)) return;
        watch(c, c->lease.due());
    }
    send_renewals({c}, now);
}

}  // namespace mortise::inline v0::core
