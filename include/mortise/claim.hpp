// The claim: what a caller wants of a name.
#pragma once

#include <mortise/config.hpp>
#include <mortise/field.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace mortise::inline v0 {

// Who extends the lease: the client, every third of it, while the hold lives; or nobody, and the hold ends with its
// first lease. Naming a lease never switches renewal off.
enum class renew { on, off };

// In which order waiters are served. `any` is a licence, met as first come, first served where the store queues;
// `fifo` is a demand, refused with errc::unsupported by a store that does not promise it.
enum class order { any, fifo };

// What keeps the claim alive. `process`: gone with the hold, the client or the process. `lease`: a detached claim,
// which outlives all three and ends with its lease or by release of its id; for scripts and once-per-period jobs.
enum class kept_by { process, lease };

// Whether an unlock may pass the grant to the next waiter of this client without asking the store: much faster, and
// at most 16 turns in a row (client_options::hand_over_turns), so other processes are not starved. Only exclusive
// `order::any` claims with equal options take part.
enum class hand_over { on, off };

// How far a grant must have got before it counts. `master`: the server that answers has it. `wait(k)`: k of its replicas have
// it too, or the claim fails with errc::unreachable and is given back; so the grant outlives the server, if one of these takes
// its place. Only where promises().replicas; a store that always asks a majority needs no such wish.
struct durability {
    unsigned replicas = 0;

    static constexpr durability master() noexcept { return {}; }
    static constexpr durability wait(unsigned k) noexcept { return {k}; }
    friend bool operator==(const durability&, const durability&) = default;
};

// Whether an unlock waits for the store's answer. `lazy`: it returns once the release is on its way, and nobody is told how it
// ended (release_result::sent); the release is repeated in the background as any other.
enum class release_mode { awaited, lazy };

// How to claim. Every field has a default that is right for most; give what differs:
//     locks.try_acquire("report", {.wait = 200ms, .label = "nightly"});
struct claim_options {
    // How long to wait for the grant. Unset: the verb's own (`lock` and `acquire` for ever, `try_` not at all).
    // Zero: do not wait.
    std::optional<std::chrono::nanoseconds> wait{};

    // Life of the grant without renewal, 100 ms to 24 h. Unset: the client's, else the store's default (30 s, or
    // none where the store itself notices the holder's death).
    std::optional<std::chrono::nanoseconds> lease{};

    mortise::renew renew = mortise::renew::on;
    mortise::order order = mortise::order::any;
    mortise::kept_by kept_by = mortise::kept_by::process;
    mortise::hand_over hand_over = mortise::hand_over::on;

    mortise::release_mode release = mortise::release_mode::awaited;

    // Unset: the client's.
    std::optional<mortise::durability> durability{};

    // Refuse, instead of granting without one, where the store has no fencing tokens.
    bool require_token = false;

    // Shown to whoever finds the lock taken; at most 200 bytes. Empty: the client's.
    field<std::string> label{};

    // Ends the wait with errc::cancelled, and leaves no waiter behind. Has no effect on a hold.
    field<std::stop_token> stop{};
};

// How long one call waits, and what ends it early; for locks whose other options were given when they were made. `stop` ends
// this call, the lock's own `options.stop` every call.
struct wait_options {
    std::optional<std::chrono::nanoseconds> wait{};  // unset: the verb's own, as in claim_options
    field<std::stop_token> stop{};
};

// A name has a capacity, a claim a weight; claims are granted first come, first served while the weights fit.
// A mutex is 1 of 1; a permit k of n. All claims on a name must agree on its capacity (else errc::kind_mismatch).
struct claim {
    field<std::string> name;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    claim_options options{};

    bool exclusive() const noexcept { return weight == capacity; }
};

}  // namespace mortise::inline v0
