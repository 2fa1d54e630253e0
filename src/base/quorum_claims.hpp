// Claims on a quorum. Each attempt is a round; what the answers mean, base/quorum_vote.hpp decides. With tokens it is two: a
// majority must grant it, and then agree on its token (base/token_vote.hpp).
#pragma once

#include "base/quorum_desk.hpp"
#include "base/quorum_node.hpp"
#include "base/quorum_rounds.hpp"
#include "base/quorum_tokens.hpp"
#include "base/quorum_vote.hpp"
#include "base/split_retries.hpp"
#include "base/token_vote.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::base {

class quorum_claims;

// One attempt, or the pause before it.
struct quorum_claim_round final : quorum_round {
    quorum_claim_round(quorum_claims& in, const claim_id& which, const quorum_vote::rules& rules, spi::time_point now)
        : claims(in), id(which), vote(rules, now), asked(rules.nodes), seen(rules.nodes) {}
    spi::task expire(spi::time_point now) override;

    bool too_late(spi::time_point now) const;  // by a majority, but too little of the lease is left

    quorum_claims& claims;
    const claim_id id;
    quorum_vote vote;
    bool wants_token = false;         // it has none yet
    std::optional<token_vote> token;  // the second round
    std::vector<char> asked;
    std::vector<node_vote> seen;
    split_retries retries;
    bool pausing = false;
    std::vector<spi::reply<spi::claim_answer>> replies;
};

class quorum_claims {
public:
    // Without `tokens`, claims have none.
    quorum_claims(quorum_desk& desk, quorum_tokens* tokens) : desk_(desk), tokens_(tokens) {}

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done);

private:
    friend quorum_claim_round;
    using round_ptr = std::shared_ptr<quorum_claim_round>;

    // With the mutex held.
    round_ptr begin(quorum_entry& mine, const claim_id& id, spi::time_point now);
    round_ptr make_round(const quorum_entry& mine, const claim_id& id, spi::time_point now);
    spi::task conclude(quorum_claim_round& round);
    bool pause(quorum_claim_round& split, quorum_entry& mine);
    spi::task try_again(quorum_claim_round& paused, spi::time_point now);
    spi::task count(const round_ptr& round, std::size_t node, node_vote vote);
    spi::task begin_raising(const round_ptr& round);
    spi::task raise_more(const round_ptr& round);
    spi::claim_answer answer_of(const quorum_claim_round& round, spi::time_point now) const;
    void explain(const quorum_claim_round& round, spi::time_point now, spi::claim_answer& no) const;
    spi::claim_answer held_by_others(const quorum_claim_round& round) const;

    void ask(const round_ptr& round, const spi::claim_request& asked);
    void answered(const round_ptr& round, std::size_t node, node_vote vote);
    void voted(const round_ptr& round, std::size_t node, node_vote vote);
    void raised(const round_ptr& round, const token_vote::order& which, const spi::raise_answer& answer);

    quorum_desk& desk_;
    quorum_tokens* const tokens_;
};

}  // namespace mortise::inline v0::base
