// Renewals on a quorum: a majority must renew, and gives a hold back to the nodes that have forgotten it.
#pragma once

#include "base/quorum_desk.hpp"
#include "base/quorum_tokens.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace mortise::inline v0::base {

class quorum_renewals {
public:
    quorum_renewals(quorum_desk& desk, quorum_tokens* tokens) : desk_(desk), tokens_(tokens) {}

    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done);

private:
    struct round;
    using round_ptr = std::shared_ptr<round>;

    // With the mutex held.
    void add(round& to, const spi::renewal& due);
    spi::task conclude(round& ended);
    spi::task give_again(round& renewed);

    void ask(const round_ptr& round);
    void answered(const round_ptr& round, std::size_t node, const std::vector<spi::renewal_answer>& answers);

    quorum_desk& desk_;
    quorum_tokens* const tokens_;  // none: without tokens
};

}  // namespace mortise::inline v0::base
