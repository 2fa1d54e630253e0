// The state of one name, kept in the ledger. What it does is in base/lock_rules.hpp; here is only where the claims are.
#pragma once

#include "base/lock_rules.hpp"
#include "stores/host/ledger_access.hpp"

#include <cstdint>

namespace mortise::inline v0::stores::host {

// One class because base/lock_rules asks one storage for all of these, most of them one line.
class named_state : public base::lock_rules<named_state> {
    friend lock_rules;

public:
    // `hint`: where the claim in question was last seen, so that a long queue need not be searched.
    named_state(ledger_access& in, std::string_view name, block_number hint = 0);

    // To be called when all is done: a name without claims is forgotten. Not called, nothing has happened.
    void finish() noexcept;

    std::size_t waiting() const noexcept { return at_ == 0 || !in_.sound() ? 0 : name().queue.count; }
    std::uint32_t capacity() const noexcept { return at_ == 0 ? 0 : name().capacity; }
    std::uint64_t last_counter() const noexcept { return in_.last_counter(); }
    spi::time_point next_end() const noexcept;

    block_number find_holder(const claim_id&) const noexcept;
    block_number find_waiter(const claim_id&) const noexcept;
    block_number find_counter(std::uint64_t counter) const noexcept;  // of the holders
    block_number first_holder() const noexcept { return at_ == 0 ? 0 : in_.first(name().holders); }
    block_number hint() const noexcept { return hint_; }  // now
    block_number first_in_queue() const noexcept { return at_ == 0 ? 0 : in_.first(name().queue); }
    block_number after(block_number n) const noexcept { return in_.after(n); }
    bool abandoned(block_number n) const noexcept { return in_.abandoned(n); }  // by its client
    std::size_t place_of(block_number n, std::size_t most) const noexcept;      // in the queue, counted up to `most`
    base::kept_claim at(block_number n) const;                                  // without label and whereabouts
    mortise::holder describe(block_number n, spi::time_point now) const;

private:
    // What lock_rules builds on.
    std::uint64_t used() const noexcept { return at_ == 0 ? 0 : name().used; }
    void begin(std::uint32_t capacity);
    void last_counter(std::uint64_t n) noexcept { in_.raise_counter(n); }
    base::kept_claim first_waiting() const { return at(name().queue.first); }
    std::size_t place_of(block_number n) const noexcept { return place_of(n, SIZE_MAX); }
    spi::grant hold(const base::kept_claim& granted);
    void enqueue(const base::kept_claim& wanted);
    void enqueue_first(const base::kept_claim& wanted);
    block_number next_holder(block_number n) const noexcept { return after(n); }
    bool has_word(block_number n) const noexcept { return in_.claim(n).has_word(); }
    base::kept_claim promote(std::uint64_t counter, spi::time_point since) noexcept;
    void extend(block_number n, spi::duration lease, spi::time_point ends) noexcept;
    void remove(block_number n) noexcept;
    void leave(block_number n) noexcept;
    template <class Which>
    void remove_if(const Which& which) {
        for (block_number n = at_ == 0 ? 0 : in_.last(name().holders); n != 0;) {
            const block_number earlier = in_.before(n);
            if (which(at(n))) remove(n);
            n = earlier;
        }
    }
    template <class Which>
    void leave_if(const Which& which) {
        for (block_number n = first_in_queue(); n != 0;) {
            const block_number later = after(n);
            if (which(at(n))) leave(n);
            n = later;
        }
    }
    void checkpoint() noexcept { in_.commit(); }
    void remember(const base::ended_claim& old, spi::time_point) noexcept { in_.remember(old); }
    base::ended_claim* remembered(const claim_id& id, spi::time_point now) noexcept;

    name_block& name() const noexcept { return in_.name(at_); }
    block_number write(const base::kept_claim& c);
    void now_holds(block_number n) noexcept;
    void give_word(claim_block& b) noexcept;
    void find_next_end() noexcept;

    ledger_access& in_;
    block_number at_;
    block_number hint_;
    std::string_view text_;
};

}  // namespace mortise::inline v0::stores::host
