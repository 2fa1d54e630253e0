// One store of a quorum: asks it, says how its answer counts, and repeats releases that it did not answer.
#pragma once

#include "base/quorum_vote.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/quorum.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::base {

// How a node voted, and why.
struct node_vote {
    ballot is = ballot::failed;
    std::optional<spi::duration> free_in{};  // none: not known
    std::error_code reason{};
    std::string why{};          // it did not grant, for people
    std::uint64_t counter = 0;  // of a grant, if the node has tokens
};

class quorum_node final : private spi::events {
public:
    quorum_node(const spi::quorum_node& which, const spi::context& outer, spi::duration settle);

    const std::string& name() const noexcept { return name_; }
    spi::store& store() noexcept { return *store_; }

    // With `settle`, a grant counts only if the server had been running for so long when it gave it. Its uptime is asked once
    // a connection, after or along with a claim; a server that starts again ends the connection first, which the store
    // reports before any answer of the new one.
    void claim(const spi::claim_request& wanted, spi::reply<node_vote> done);

    // Releases until it is answered, or until nothing can be left of it.
    void give_back(std::string_view name, const claim_id& value, spi::time_point until);

    void close() noexcept;

private:
    struct leftover {
        std::string name;
        claim_id value;
        spi::time_point until;
    };

    void granted(std::string_view name, const claim_id& value, const spi::grant&) override;
    void lost(std::string_view, const claim_id&) override;
    void reconnected() override;

    // A grant, until it is known for how long the server has been running.
    struct undecided_grant {
        spi::reply<node_vote> done;
        std::uint64_t counter;
    };

    void judge(spi::reply<node_vote> done, std::uint64_t counter);
    void ask_uptime();
    void note_uptime(std::uint64_t asked_in, std::optional<spi::duration> up);
    std::optional<node_vote> vote_by_uptime() const;  // none: not known
    void repeat_later();
    void repeat();

    const std::string name_;
    const spi::context outer_;
    const spi::duration settle_;

    std::mutex mutex_;
    std::uint64_t connections_ = 0;                 // that broke
    std::optional<spi::time_point> running_since_;  // of this connection's server
    bool asking_ = false;
    std::vector<undecided_grant> undecided_;
    std::deque<leftover> leftovers_;
    unsigned repeats_ = 0;
    bool repeat_due_ = false;
    std::shared_ptr<int> open_ = std::make_shared<int>();  // until it is closed; timers look

    const std::unique_ptr<spi::store> store_;
};

}  // namespace mortise::inline v0::base
