// The life of a grant, as its holder may count on it.
//
// Pure: told what time it is and what the store said, it says what to do. No clock, no thread, no store.
//
//   counted from          renewal due                         deadline      store's end
//   (before the request)  |                                   |             |
//   |---------------------|--x---x---x---x---x----------------|-- margin ---|
//   0                    1/3  retried every 1/10 while unknown  1 - drift      1
//
// A renewal has three answers. Renewed starts the lease anew, counted from before the request. Lost ends it. Unknown does
// neither: it is tried again until the deadline, whatever happened to the reply. Once lost, it stays lost.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <optional>

namespace mortise::inline v0::core {

class lease {
public:
    enum class state : unsigned char { held, at_risk, lost };

    struct terms {
        std::optional<spi::duration> life{};  // none: ends only when told; one that is not positive is over at once
        bool renewed = true;
        spi::duration margin{};                // how much before the store's end the holder stops
        std::optional<spi::duration> grace{};  // set: so long, until the first renewal makes it `life`
    };

    // What the surroundings have to do.
    struct step {
        bool renew = false;    // send a renewal now
        bool at_risk = false;  // it has just become uncertain
        bool lost = false;     // it has just ended
    };

    lease() = default;
    lease(const terms& agreed, spi::time_point counted_from);

    // Time passed.
    step poll(spi::time_point now);

    // The store answered a renewal sent at `sent`.
    step answered(spi::renewal_answer answer, spi::time_point sent, spi::time_point now);

    // Asks for a renewal before it is due. False: one is on its way, or none is wanted.
    bool ask_early(spi::time_point now);

    // Its owner asks for it to start anew. One that is renewed anyway is asked early; a fixed one once, and not again if that
    // fails: it ends when it would have ended.
    bool restart(spi::time_point now);

    // As ask_early, and whatever is on its way is in doubt.
    bool ask_again(spi::time_point now);

    // The store says that it is gone.
    step revoked();

    state now_is() const noexcept { return state_; }
    spi::time_point counted_from() const noexcept { return counted_from_; }
    std::optional<spi::duration> life() const noexcept;
    // What it lasts from counted_from() on: its life, or at first its grace. Max() without a lease.
    spi::duration span() const noexcept;

    // False from here on, whatever happens to renewals; max() without a lease.
    spi::time_point deadline() const noexcept;

    // When poll() has something to say.
    spi::time_point due() const noexcept;

    // From then on a renewal may go along with one that is due, so that many go together.
    spi::time_point may_join() const noexcept;

private:
    spi::duration life_ = spi::duration::zero();  // zero: none
    spi::duration span_ = spi::duration::zero();
    spi::duration margin_{};
    spi::time_point counted_from_{};
    spi::time_point next_renewal_ = spi::time_point::max();
    state state_ = state::held;
    bool renewed_ = false;
    bool unanswered_ = false;
};

}  // namespace mortise::inline v0::core
