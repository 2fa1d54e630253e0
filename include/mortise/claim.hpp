// A claim on a name, and its options.
#pragma once

#include <mortise/config.hpp>
#include <mortise/field.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace mortise::inline v0 {

// Whether the client renews the lease. `on`: every third of the lease, while the hold lives. `off`: not by itself, so the
// hold ends when its lease expires; locking a recursive_mutex once more, or unlocking one level of it, starts the lease
// anew. Setting a lease does not switch renewal off.
enum class renew { on, off };

// The order in which waiters are granted. `any`: the store's own order, first come, first served on stores with a
// queue. `fifo`: strictly in order of arrival; fails with errc::unsupported on a store that does not promise it.
enum class order { any, fifo };

// What keeps the claim alive. `process`: it ends with the hold, the client or the process. `lease`: a detached claim,
// which outlives all three and ends when its lease expires or its id is released; for scripts and jobs that run once
// per period.
enum class kept_by { process, lease };

// Whether an unlock may hand the grant to the next waiter of this client without a request to the store (*lock
// cohorting*). It is much faster, and limited to 16 turns in a row (client_options::hand_over_turns) so that other
// processes do not starve. It applies to exclusive claims with order::any and equal options.
enum class hand_over { on, off };

// Which servers must have stored a grant before it counts. `master`: the server that answers. `wait(k)`: k of its
// replicas too, so that the grant survives a failover to one of them; otherwise the claim fails with errc::unreachable
// and is withdrawn. Requires promises().replicas. Stores that always write to a majority do not need it.
struct durability {
    unsigned replicas = 0;

    static constexpr durability master() noexcept { return {}; }
    static constexpr durability wait(unsigned k) noexcept { return {k}; }
    friend bool operator==(const durability&, const durability&) = default;
};

// Whether an unlock waits for the store's answer. `lazy`: it returns as soon as the release is sent
// (release_result::sent), and its result is not reported. It is retried in the background like any other release.
enum class release_mode { awaited, lazy };

// Whether the client keeps the grant for a while after an unlock, and takes it again without a request (a *kept* lock). As soon
// as another client asks for the lock, the store tells the keeper, who gives it up: at once if it is idle, else with its next
// unlock. A lock that others want every now and then is not kept for some time after each. Applies to the locks and read locks
// that a mutex object takes with order::any, renew::on and hand_over::on; requires promises().keeps. Readers who keep their reads
// do not disturb each other. A keeper that is stopped delays others until its lease ends.
struct keep {
    std::chrono::nanoseconds idle_for{};  // 1 ms to 60 s; zero: not at all

    static constexpr keep off() noexcept { return {}; }
    static constexpr keep idle(std::chrono::nanoseconds span = std::chrono::milliseconds{50}) noexcept {
        return {span};
    }
    friend bool operator==(const keep&, const keep&) = default;
};

// How to claim a name. The defaults suit most callers; set what differs:
//     locks.try_acquire("report", {.wait = 200ms, .label = "nightly"});
struct claim_options {
    // How long to wait for the grant. Unset: as the function says (lock and acquire wait for ever, try_ functions do
    // not wait). Zero: do not wait.
    std::optional<std::chrono::nanoseconds> wait{};

    // How long the grant lasts without renewal, 100 ms to 24 h. Unset: the client's lease, else the store's default (30
    // s, or no lease if the store itself detects the holder's death).
    std::optional<std::chrono::nanoseconds> lease{};

    mortise::renew renew = mortise::renew::on;
    mortise::order order = mortise::order::any;
    mortise::kept_by kept_by = mortise::kept_by::process;
    mortise::hand_over hand_over = mortise::hand_over::on;

    mortise::release_mode release = mortise::release_mode::awaited;

    // Unset: the client's durability.
    std::optional<mortise::durability> durability{};

    // Unset: as the client does.
    std::optional<mortise::keep> keep{};

    // Fail with errc::no_token if the store has no fencing tokens.
    bool require_token = false;

    // Shown to callers that find the lock held; at most 200 bytes. Empty: the client's label.
    field<std::string> label{};

    // Ends the wait with errc::cancelled and leaves no waiter in the store. Does not affect a hold.
    field<std::stop_token> stop{};
};

// How long one call waits, and what cancels it; for locks whose other options were given at construction. `stop`
// cancels this call, the lock's own `options.stop` every call.
struct wait_options {
    std::optional<std::chrono::nanoseconds> wait{};  // as in claim_options
    field<std::stop_token> stop{};
};

// A request for a share of a name. A name has a capacity and a claim a weight; claims are granted while the sum of the
// weights fits. A mutex claims 1 of 1, a semaphore k of n. All claims on a name must agree on its capacity (otherwise
// errc::kind_mismatch).
struct claim {
    field<std::string> name;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    claim_options options{};

    bool exclusive() const noexcept { return weight == capacity; }
};

}  // namespace mortise::inline v0
