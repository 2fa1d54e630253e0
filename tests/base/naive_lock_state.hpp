// base/lock_rules once more, in the most obvious way: what the real ones are compared with.
//
// Vectors and linear scans, nothing cached, nothing shared with the real one but the types of its answers. `flaw` makes it
// wrong in one known way each, to show that the comparison would notice.
#pragma once

#include "base/flaws.hpp"
#include "base/lock_state.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::testing {

class naive_lock_state {
public:
    using claim = base::kept_claim;
    using instant = base::instant;
    using notice = base::effects::notice;
    using verdict = spi::claim_answer::verdict;

    struct answer {
        verdict is = verdict::unknown;
        errc reason{};
        spi::grant grant{};
        std::optional<claim_id> in_the_way{};
        std::size_t place = 0;
        std::optional<spi::duration> free_in{};
    };

    explicit naive_lock_state(flaw wrong = flaw::none, std::uint64_t floor = 0,
                              std::size_t remembers = base::lock_state::most_remembered)
        : last(floor), wrong_(wrong), remembers_(remembers) {}

    spi::duration remembered_for = base::ended_claim::remembered_for;

    answer ask(const claim& wanted, std::uint32_t capacity, bool queue_up, instant at) {
        settle(at);
        if (wrong_ != flaw::forgets_duplicates)
            for (const claim& held : holders)
                if (held.id == wanted.id) return {.is = verdict::granted, .grant = grant_of(held)};
        if (remembered(wanted.id, at) && wrong_ != flaw::forgets_releases)
            return {.is = verdict::refused, .reason = errc::cancelled};
        if (busy() && capacity != capacity_ && wrong_ != flaw::capacities_may_differ)
            return {.is = verdict::refused, .reason = errc::kind_mismatch};
        capacity_ = capacity;
        for (std::size_t i = 0; i < queue.size(); ++i)
            if (queue[i].id == wanted.id) {
                if (queue_up || !wanted.replaces() || wrong_ == flaw::upgrades_never_stop_waiting)
                    return standing(verdict::queued, i + 1, at);
                queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
                remember(wanted.id, spi::release_answer::released, at);
                grant_head(at);
                return standing(verdict::busy, 1, at, wanted.instead_of);
            }
        if (wanted.replaces()) return exchange(wanted, queue_up, at);
        const bool may_enter = queue.empty() || wrong_ == flaw::small_ones_overtake ||
                               (wrong_ == flaw::readers_pass_a_writer && wanted.weight == 1);
        if (may_enter && used() + wanted.weight <= capacity_)
            return {.is = verdict::granted, .grant = grant_of(install(wanted, at))};
        if (!queue_up) return standing(verdict::busy, queue.size() + 1, at);
        queue.push_back(wanted);
        return standing(verdict::queued, queue.size(), at);
    }

    answer exchange(const claim& wanted, bool queue_up, instant at) {
        if (!holds(wanted.instead_of)) return {.is = verdict::refused, .reason = errc::lost};
        if (used() - weight_of(wanted.instead_of) + wanted.weight <= capacity_ ||
            wrong_ == flaw::upgrades_ignore_readers) {
            replace(wanted.instead_of, at);
            const spi::grant given = grant_of(install(wanted, at));
            if (wrong_ != flaw::downgrades_let_nobody_in) grant_head(at);
            return {.is = verdict::granted, .grant = given};
        }
        if (!queue.empty() && queue.front().replaces() && wrong_ != flaw::upgrades_wait_for_each_other)
            return {.is = verdict::refused, .reason = errc::would_deadlock};
        if (!queue_up) return standing(verdict::busy, 1, at, wanted.instead_of);
        const bool behind = wrong_ == flaw::upgrades_queue_up;
        queue.insert(behind ? queue.end() : queue.begin(), wanted);
        return standing(verdict::queued, 1, at, wanted.instead_of);
    }

    spi::renewal_answer renew(const claim_id& id, spi::duration lease, instant at) {
        const auto expired = std::find_if(holders.begin(), holders.end(),
                                          [&](const claim& held) { return held.id == id && held.ends <= at.now; });
        if (expired != holders.end() && wrong_ == flaw::renewal_resurrects) expired->ends = at.now + lease;
        settle(at);
        for (claim& held : holders) {
            if (held.id != id) continue;
            const bool extends = held.lease && at.now + lease >= held.ends;
            if (extends || wrong_ == flaw::duplicates_shorten) {
                held.lease = lease;
                held.ends = at.now + lease;
            }
            return spi::renewal_answer::renewed;
        }
        return spi::renewal_answer::lost;
    }

    spi::release_answer release(const claim_id& id, std::uint64_t by, instant at) {
        settle(at);
        for (std::size_t i = 0; i < holders.size(); ++i) {
            if (holders[i].id != id && wrong_ != flaw::anybody_may_release) continue;
            const claim held = holders[i];
            if (held.session != by)
                lost.push_back({held.session, held.id, {held.counter, held.lease, held.since}, held.wait_slot});
            holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(i));
            return over(id, at);
        }
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (queue[i].id != id) continue;
            if (wrong_ == flaw::upgrades_end_with_their_wait && queue[i].replaces()) replace(queue[i].instead_of, at);
            queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
            return over(id, at);
        }
        const auto stranger = holders.empty() ? spi::release_answer::expired : spi::release_answer::taken_over;
        for (ended& e : ended_) {
            if (e.id != id || !fresh(e, at)) continue;
            if (!e.answer) e.answer = stranger;
            return *e.answer;
        }
        remember(id, stranger, at);
        return stranger;
    }

    bool break_hold(std::uint64_t counter, instant at) {
        settle(at);
        for (std::size_t i = 0; i < holders.size(); ++i) {
            if (holders[i].counter != counter) continue;
            const claim broken = holders[i];
            holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(i));
            lost.push_back({broken.session, broken.id, {broken.counter, broken.lease, broken.since}, broken.wait_slot});
            remember(broken.id, std::nullopt, at);
            if (wrong_ != flaw::breaking_keeps_the_counter) ++last;
            grant_head(at);
            return true;
        }
        return false;
    }

    void drop_session(std::uint64_t session, instant at) {
        settle(at);
        std::erase_if(holders, [&](const claim& held) {
            if (wrong_ == flaw::dead_readers_stay && held.weight < capacity_) return false;
            return held.session == session && (!held.detached || wrong_ == flaw::dropping_takes_detached);
        });
        if (wrong_ != flaw::dead_waiters_stay)
            std::erase_if(queue, [&](const claim& waits) { return waits.session == session; });
        grant_head(at);
    }

    void settle(instant at) {
        if (wrong_ == flaw::never_expires) return;
        // The last to be granted is the first to be remembered as ended.
        for (std::size_t i = holders.size(); i-- > 0;) {
            if (at.now < holders[i].ends) continue;
            remember(holders[i].id, std::nullopt, at);
            holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(i));
        }
        grant_head(at);
    }

    bool busy() const { return !holders.empty() || !queue.empty(); }
    std::uint32_t capacity() const { return capacity_; }
    std::uint64_t used() const {
        std::uint64_t sum = 0;
        for (const claim& held : holders)
            sum += wrong_ == flaw::permits_count_twice && held.weight > 1 ? 2 * held.weight : held.weight;
        return sum;
    }
    bool forgettable(instant at) const {
        return !busy() && std::none_of(ended_.begin(), ended_.end(), [&](const ended& e) { return fresh(e, at); });
    }

    std::vector<claim> holders;  // in the order of their grants
    std::vector<claim> queue;    // in the order of their coming
    std::vector<notice> granted;
    std::vector<notice> lost;
    std::uint64_t last;

private:
    struct ended {
        claim_id id;
        spi::time_point at;
        std::optional<spi::release_answer> answer;
    };

    static spi::grant grant_of(const claim& held) {
        return {held.counter, held.lease, held.lease ? held.ends - *held.lease : held.since};
    }

    bool holds(const claim_id& id) const {
        return std::any_of(holders.begin(), holders.end(), [&](const claim& held) { return held.id == id; });
    }
    std::uint64_t weight_of(const claim_id& id) const {
        for (const claim& held : holders)
            if (held.id == id) return held.weight;
        return 0;
    }
    void replace(const claim_id& old, instant at) {
        remember(old, spi::release_answer::released, at);
        if (wrong_ != flaw::upgrades_keep_the_old)
            std::erase_if(holders, [&](const claim& held) { return held.id == old; });
    }

    answer standing(verdict is, std::size_t place, instant at, claim_id own = {}) const {
        answer a{.is = is, .place = place};
        for (const claim& held : holders) {
            if (held.id == own) continue;
            a.in_the_way = held.id;
            break;
        }
        for (const claim& held : holders)
            if (held.lease) a.free_in = std::min(a.free_in.value_or(spi::duration::max()), held.ends - at.now);
        return a;
    }

    const claim& install(claim wanted, instant at) {
        last = wrong_ == flaw::trusts_the_wall_clock ? at.wall_us : std::max(last + 1, at.wall_us);
        wanted.counter = last;
        wanted.since = at.now;
        if (wanted.lease) wanted.ends = at.now + *wanted.lease;
        holders.push_back(std::move(wanted));
        return holders.back();
    }

    void grant_head(instant at) {
        while (!queue.empty()) {
            const auto next = wrong_ == flaw::last_come_first_served ? queue.end() - 1 : queue.begin();
            const claim head = *next;
            if (head.replaces() && !holds(head.instead_of) && wrong_ != flaw::upgrades_outlive_their_hold) {
                lost.push_back({head.session, head.id, {head.counter, head.lease, head.since}, head.wait_slot});
                remember(head.id, std::nullopt, at);
                queue.erase(next);
                continue;
            }
            if (used() - weight_of(head.instead_of) + head.weight > capacity_) return;
            queue.erase(next);
            if (head.replaces()) replace(head.instead_of, at);
            const claim& now_holds = install(head, at);
            granted.push_back({now_holds.session, now_holds.id, grant_of(now_holds), now_holds.wait_slot});
        }
    }

    spi::release_answer over(const claim_id& id, instant at) {
        remember(id, spi::release_answer::released, at);
        if (wrong_ != flaw::leaving_wakes_nobody) grant_head(at);
        return spi::release_answer::released;
    }

    bool fresh(const ended& e, instant at) const {
        return wrong_ == flaw::remembers_for_ever || at.now < e.at + remembered_for;
    }
    bool remembered(const claim_id& id, instant at) const {
        return std::any_of(ended_.begin(), ended_.end(), [&](const ended& e) { return e.id == id && fresh(e, at); });
    }
    void remember(const claim_id& id, std::optional<spi::release_answer> said, instant at) {
        ended_.push_back({id, at.now, said});
        const std::size_t most = remembers_ * (wrong_ == flaw::remembers_too_many ? 2 : 1);
        if (ended_.size() > most) ended_.erase(ended_.begin());
    }

    flaw wrong_;
    std::size_t remembers_;
    std::uint32_t capacity_ = 0;
    std::vector<ended> ended_;
};

}  // namespace mortise::testing
