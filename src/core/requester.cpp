#include "core/requester.hpp"

#include <utility>

namespace mortise::inline v0::core {

std::shared_ptr<release_request> requester::run(actions&& todo) {
    std::shared_ptr<release_request> release;
    if (todo.release.claim) {
        release = release_of(std::move(todo.release), todo.now != spi::time_point{} ? todo.now : link_.clock.now());
        release_request::send(release);
    }
    if (todo.granted) {
        claimant& call = *todo.granted;
        link_.notifications.emit(event_kind::granted, call.cohort->terms.name, call.token(), {}, todo.granted_after);
        answer(call, claimant::handle(std::move(todo.granted)));
    }
    for (auto& [call, why] : todo.refused) {
        link_.notifications.emit(event_kind::refused, call->cohort->terms.name, {}, why.reason,
                                 link_.clock.now() - call->since.load());
        answer(*call, std::move(why));
    }
    if (todo.lost) listeners_.tell(todo.lost);
    if (todo.confirm) confirm(todo.confirm, link_.clock.now());
    if (todo.request) {
        send(todo.ask, *todo.request, todo.now);
    } else if (todo.ask) {
        ask(todo.ask, todo.now != spi::time_point{} ? todo.now : link_.clock.now());
    }
    return release;
}

// The phase has changed under the mutex, so nobody else touches what the call waited with.
void requester::answer(claimant& call, attempt result) {
    auto waited = std::move(call.waiting);
    if (waited->timer != 0) link_.clock.cancel(waited->timer);
    auto done = std::move(waited->done);
    waited.reset();  // ends the stop_callback, which may be running: it finds the call answered
    done(std::move(result));
}

void requester::watch_deadline(const std::shared_ptr<claimant>& call, std::size_t name_hash) {
    if (call->is.load() != claimant::phase::waiting) return;
    std::scoped_lock guard{table_.mutex_of(name_hash)};
    if (call->is.load() != claimant::phase::waiting || call->waiting->deadline == spi::time_point::max()) return;
    call->waiting->timer =
        link_.clock.at(call->waiting->deadline, [this, weak = client_, caller = std::weak_ptr(call), name_hash] {
            const auto client = weak.lock();
            const auto waiting = caller.lock();
            if (client && waiting) give_up(waiting, name_hash, errc::timed_out);
        });
}

void requester::give_up(const std::shared_ptr<claimant>& call, std::size_t name_hash, errc why,
                        const std::string& what) {
    run(table_.leave(call, name_hash, why, what, link_.clock.now()));
}

void requester::ask(const std::shared_ptr<cohort>& c, spi::time_point sent) {
    if (const auto wanted = table_.request(*c, sent)) send(c, *wanted, sent);
}

void requester::send(const std::shared_ptr<cohort>& c, const spi::claim_request& wanted, spi::time_point sent) {
    c->calling.store(true, std::memory_order_relaxed);
    // The cohort keeps its client, which has this. Two forms, each small enough to be kept inside a reply.
    if (wanted.queue) {
        link_.store.claim(wanted, [this, mine = c, sent](auto&& answer) { receive(mine, sent, true, answer); });
    } else {
        link_.store.claim(wanted, [this, mine = c, sent](auto&& answer) { receive(mine, sent, false, answer); });
    }
    c->calling.store(false, std::memory_order_release);
    table_.requested(c, sent + link_.options.reply_timeout);
}

void requester::receive(const std::shared_ptr<cohort>& c, spi::time_point sent, bool queues,
                        spi::claim_answer& answer) {
    run(table_.answered(c, sent, queues, std::move(answer), link_.clock.now()));
}

void requester::granted(std::string_view name, const claim_id& id, const spi::grant& given) {
    actions todo;
    const spi::time_point now = link_.clock.now();
    if (table_.granted(name, id, given, now, todo)) {
        run(std::move(todo));
    } else {  // a grant nobody waits for is given back
        release_request::send(release_of(name, id, release_until(given.lease, now)));
    }
}

void requester::lost(std::string_view name, const claim_id& id) {
    run(table_.lost(name, id, link_.clock.now()));
}

void requester::wanted(std::string_view name, const claim_id& id) {
    run(table_.wanted(name, id, link_.clock.now()));
}

spi::time_point requester::look() {
    if (!link_.usable()) return spi::time_point::max();
    const spi::time_point now = link_.clock.now();
    std::vector<std::shared_ptr<cohort>> renewing;
    const claim_table::looks found = table_.due(now);
    for (const auto& c : found.claims) {
        actions todo;
        if (table_.look(c, now, todo)) renewing.push_back(c);
        run(std::move(todo));
    }
    if (!renewing.empty()) send_renewals(std::move(renewing), now);
    return found.next;
}

void requester::renew_early(const std::shared_ptr<cohort>& c) {
    const spi::time_point now = link_.clock.now();
    if (table_.renew_early(c, now)) send_renewals({c}, now);
}

void requester::send_renewals(std::vector<std::shared_ptr<cohort>> claims, spi::time_point sent) {
    std::vector<spi::renewal> batch;
    batch.reserve(claims.size());
    for (const auto& c : claims) batch.push_back({c->terms.name, c->id, *c->lease.life()});
    link_.store.renew(batch, [this, claims = std::move(claims), sent](std::vector<spi::renewal_answer> answers) {
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const auto answer = i < answers.size() ? answers[i] : spi::renewal_answer::unknown;
            run(table_.renewed(claims[i], answer, sent, link_.clock.now()));
        }
    });
}

// Whether the store still knows a hold, whose loss it would not have told us of.
void requester::confirm(const std::shared_ptr<cohort>& c, spi::time_point sent) {
    const spi::renewal asked{c->terms.name, c->id, spi::duration::zero()};  // extends nothing
    link_.store.renew({&asked, 1}, [this, c, sent](std::vector<spi::renewal_answer> answers) {
        if (!answers.empty()) run(table_.confirmed(c, answers.front(), sent, link_.clock.now()));
    });
}

// The store cannot vouch for what it said before: everything is asked again. Not here, on the store's thread.
void requester::reconnected() {
    link_.clock.at(link_.clock.now(), [this, weak = client_] {
        if (const auto client = weak.lock()) verify();
    });
}

void requester::verify() {
    if (!link_.usable()) return;
    const spi::time_point now = link_.clock.now();
    claim_table::doubts open = table_.doubt_all(now);
    if (!open.renewing.empty()) send_renewals(std::move(open.renewing), now);
    for (const auto& c : open.fixed) confirm(c, now);
    for (const auto& c : open.waiting) ask(c, now);
    for (claim_release& one : open.idle) release_request::send(release_of(std::move(one), now));
}

std::shared_ptr<release_request> requester::release_of(claim_release which, spi::time_point now) {
    if (which.settles) {
        // The hold that an unsettled exchange was to replace waits for the answer, however long its lease is over.
        const std::shared_ptr<cohort> c = which.claim;
        auto request =
            base::make_spared<release_request>(std::move(which.claim), link_, releases_, std::move(which.ticket),
                                               c->terms.name, c->id, spi::time_point::max());
        request->then([this, c](spi::release_answer) { table_.left(c, link_.clock.now()); });
        return request;
    }
    const cohort& c = *which.claim;  // it keeps its client
    return base::make_spared<release_request>(std::move(which.claim), link_, releases_, std::move(which.ticket),
                                              c.terms.name, c.id, release_until(c.terms.lease, now));
}

std::shared_ptr<release_request> requester::release_of(std::string_view name, const claim_id& id,
                                                       spi::time_point until) {
    const auto owner =
        std::make_shared<const std::pair<std::shared_ptr<hold_keeper>, std::string>>(client_.lock(), name);
    return base::make_spared<release_request>(owner, link_, releases_, release_log::ticket(releases_), owner->second,
                                              id, until);
}

// How long a release is worth repeating: as long as the store may keep the claim.
spi::time_point requester::release_until(const std::optional<spi::duration>& lease, spi::time_point now) const {
    const auto kept = link_.store.keeps_abandoned(lease);
    return kept && *kept < spi::time_point::max() - now ? now + *kept : spi::time_point::max();
}

}  // namespace mortise::inline v0::core
