// The state of one name in the memory of this process: holders, queue and ended claims. The rules are in
// lock_rules.hpp.
#pragma once

#include "base/lock_rules.hpp"

#include <cstddef>
#include <deque>
#include <unordered_map>

namespace mortise::inline v0::base {

// One class because lock_rules asks one type for all that it keeps: holders, queue and ended claims.
class lock_state : public lock_rules<lock_state> {
    friend lock_rules;

public:
    // Ended claims per name. Few, because there may be a million names; but enough for many waiters that give up at
    // once.
    static constexpr std::size_t most_remembered = 32;

    // `floor`: all counters of this state are larger.
    explicit lock_state(std::uint64_t floor = 0) : last_(floor) {}

    const std::vector<kept_claim>& holders() const noexcept { return holders_; }
    std::size_t waiting() const noexcept { return queue_ ? queue_->line.size() - queue_->gaps : 0; }
    const kept_claim& first_waiting() const { return queue_->line.front().claim; }  // only if waiting() > 0
    template <class Visit>
    void each_waiting(const Visit& visit) const {
        if (!queue_) return;
        for (const waiter& one : queue_->line)
            if (!one.gone) visit(one.claim);
    }
    std::uint32_t capacity() const noexcept { return capacity_; }
    std::uint64_t last_counter() const noexcept { return last_; }

    // When settle() has something to do next; max() if only a request can change the state.
    spi::time_point next_end() const noexcept { return next_end_; }

    // Idle, and no ended claim is remembered: only last_counter() need be kept.
    bool forgettable(spi::time_point now) const noexcept { return idle() && ended_.empty(now); }

private:
    struct waiter {
        kept_claim claim;
        bool gone = false;
    };
    // First come, first served. A waiter that leaves the middle becomes a gap, so that places are found in constant
    // time.
    struct queue {
        std::deque<waiter> line;
        std::uint64_t first = 0;  // number of line.front()
        std::size_t gaps = 0;
        std::unordered_map<claim_id, std::uint64_t> numbers;

        const waiter* find(const claim_id&) const noexcept;
        std::size_t place_of(const claim_id&) const noexcept;
        void leave(const claim_id&);
        void trim();
    };
    using holder_spot = std::optional<std::size_t>;  // into holders_
    using waiter_spot = const waiter*;

    // What lock_rules requires.
    std::uint64_t used() const noexcept { return used_; }
    void begin(std::uint32_t capacity) noexcept { capacity_ = capacity; }
    void last_counter(std::uint64_t n) noexcept { last_ = n; }
    holder_spot find_holder(const claim_id&) const noexcept;
    holder_spot find_counter(std::uint64_t counter) const noexcept;
    holder_spot first_holder() const noexcept { return holders_.empty() ? holder_spot{} : holder_spot{0}; }
    holder_spot next_holder(holder_spot spot) const noexcept {
        return *spot + 1 < holders_.size() ? holder_spot{*spot + 1} : holder_spot{};
    }
    waiter_spot find_waiter(const claim_id& id) const noexcept { return queue_ ? queue_->find(id) : nullptr; }
    const kept_claim& at(holder_spot spot) const noexcept { return holders_[*spot]; }
    bool has_word(holder_spot spot) const noexcept { return at(spot).word != nullptr; }
    mortise::holder describe(holder_spot spot, spi::time_point now) const { return at(spot).describe(now); }
    std::size_t place_of(waiter_spot spot) const noexcept { return queue_->place_of(spot->claim.id); }
    spi::grant hold(kept_claim&& granted);
    void enqueue(kept_claim wanted);
    void enqueue_first(kept_claim wanted);
    const kept_claim& promote(std::uint64_t counter, spi::time_point since);
    void extend(holder_spot spot, spi::duration lease, spi::time_point ends);
    void count(holder_spot spot, std::uint64_t counter) noexcept { holders_[*spot].counter = counter; }
    void remove(holder_spot spot);
    void leave(waiter_spot spot);
    template <class Which>
    void remove_if(const Which& which) {
        for (std::size_t i = holders_.size(); i-- > 0;)
            if (which(holders_[i])) take_out(i);
        find_next_end();
        tidy();
    }
    template <class Which>
    void leave_if(const Which& which) {
        if (!queue_) return;
        std::vector<claim_id> leaving;
        for (const waiter& w : queue_->line)
            if (!w.gone && which(w.claim)) leaving.push_back(w.claim.id);
        for (const claim_id& id : leaving) queue_->leave(id);
        tidy();
    }
    void checkpoint() noexcept {}
    void remember(const ended_claim& old, spi::time_point now) { ended_.add(old, now); }
    ended_claim* remembered(const claim_id& id, spi::time_point now) noexcept { return ended_.find(id, now); }

    void take_out(std::size_t index);
    void find_next_end() noexcept;
    void tidy() noexcept;

    std::vector<kept_claim> holders_;                                     // oldest first, while they are few
    std::unique_ptr<std::unordered_map<claim_id, std::size_t>> indices_;  // into it, once they are many
    std::unique_ptr<queue> queue_;
    ended_claims<most_remembered> ended_;
    std::uint64_t last_;
    std::uint64_t used_ = 0;
    spi::time_point next_end_ = spi::time_point::max();  // of many holders, not later than
    std::uint32_t capacity_ = 0;
};

}  // namespace mortise::inline v0::base
