// The second round of a claim on a quorum, which gives it a token. Pure.
//
// In the first round each node that grants says its counter. Counters of several nodes, or the largest of them, are no token: two
// clients may see the same. So one above all that were seen is proposed, and every node that granted is asked to raise its own
// to it, which it does if that is larger and the claim still holds there. It is the token once a majority has raised.
//
//   - Unique: two majorities have a node in common, and that raised to the same number only once.
//   - Rising: a later claim is granted by one of the majority that raised, with a larger counter, and proposes more than that.
//
// Both hold only if no node forgets what it raised. A node that has votes again when a majority has told it how large its
// tokens may have been (floor_of_forgotten). What was begun before that majority was asked does not count there any more:
// otherwise a node could raise, forget, be told by others that have not raised yet, and these could raise after that.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mortise::inline v0::base {

class token_vote {
public:
    // None: it did not answer. As they were before the first node is asked to raise.
    using memories = std::vector<std::optional<spi::token_memory>>;
    explicit token_vote(memories nodes);

    enum class result : unsigned char { open, agreed, failed };
    struct order {
        std::size_t node;
        std::uint64_t to;
        claim_id version;
    };

    // What is known of the first round, and what comes late.
    void granted(std::size_t node, std::uint64_t counter);
    void not_granted(std::size_t node);

    // Whom to ask next, once a majority has granted. Each is asked once for each proposal.
    std::vector<order> next();
    // The answer to an order; one to an earlier proposal changes nothing.
    result answered(const order& which, const spi::raise_answer& answer);

    result is() const noexcept { return result_; }
    std::uint64_t token() const noexcept { return proposed_; }

private:
    enum class state : unsigned char {
        unheard,  // it may yet grant
        ready,    // it granted
        asked,
        raised,
        behind,  // its counter was larger
        out,     // it has not granted, has lost it, has forgotten its tokens, or does not answer
    };

    std::size_t count(state which) const noexcept;
    void propose();
    void decide();

    const memories memories_;
    std::vector<state> states_;
    std::uint64_t largest_ = 0;  // seen
    std::uint64_t proposed_ = 0;
    result result_ = result::open;
};

// What the nodes that have forgotten their tokens may be told, after all that answered have vouched: no token that was given is
// larger. None: too few remember. If all answer and nobody remembers a token, there has not been one.
std::optional<std::uint64_t> floor_of_forgotten(std::span<const std::optional<spi::token_memory>> nodes);

}  // namespace mortise::inline v0::base
