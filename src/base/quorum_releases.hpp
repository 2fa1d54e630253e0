// Releases on a quorum: everywhere, also where it was not granted; an answer may have been lost, and a renewal may have given it
// again.
#pragma once

#include "base/quorum_desk.hpp"
#include "base/quorum_rounds.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::inline v0::base {

class quorum_releases;

struct quorum_release_round final : quorum_round {
    quorum_release_round(quorum_releases& in, const claim_id& which, std::string_view of, const claim_id& as,
                         std::size_t nodes)
        : releases(in), id(which), name(of), value(as), said(nodes, spi::release_answer::unknown), asked(nodes) {}
    spi::task expire(spi::time_point now) override;

    std::size_t missing() const { return static_cast<std::size_t>(std::count(asked.begin(), asked.end(), 1)); }
    bool certain() const;  // that it is released

    quorum_releases& releases;
    const claim_id id;
    const std::string name;
    const claim_id value;
    std::vector<spi::release_answer> said;
    std::vector<char> asked;                 // and not answered yet
    std::optional<spi::time_point> until{};  // it has ended, and what is unknown is repeated until then
    std::vector<spi::reply<spi::release_answer>> replies;
};

class quorum_releases {
public:
    explicit quorum_releases(quorum_desk& desk) : desk_(desk) {}

    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done);

private:
    friend quorum_release_round;
    using round_ptr = std::shared_ptr<quorum_release_round>;
    using claims_given_up = std::vector<spi::reply<spi::claim_answer>>;

    // With the mutex held.
    quorum_entry& entry_of(std::string_view name, const claim_id& id);
    claims_given_up give_up_claim(quorum_entry& mine);
    spi::task conclude(quorum_release_round& round);
    void forget_unsure(spi::time_point now);

    void answered(const round_ptr& round, std::size_t node, spi::release_answer answer);

    quorum_desk& desk_;
    std::deque<std::pair<spi::time_point, claim_id>> unsure_;  // without an answer
};

}  // namespace mortise::inline v0::base
