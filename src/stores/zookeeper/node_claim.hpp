// One claim of ours and its node, from the first request to the last.
#pragma once

#include "base/line.hpp"
#include "base/queued_claim.hpp"
#include "stores/zookeeper/deferred_calls.hpp"
#include "stores/zookeeper/line_reader.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// Tokens have room for 54 bits of a zxid: 22 for the epoch of the leader, which rises with each election.
inline constexpr std::uint64_t largest_counter = (std::uint64_t{1} << 54) - 1;

struct node_claim {
    explicit node_claim(const base::queued_claim::rules& rules) : machine(rules) {}

    std::string name{};
    std::string line{};        // the path of the line, its node's parent
    std::string data{};        // of its node
    base::line_entry entry{};  // as it was asked for; `arrived` and `place` are the node's
    std::optional<spi::duration> lease{};
    bool renewed = true;
    bool queues = false;  // as it was last asked for
    bool keeps = false;   // its client may keep it while it is idle

    base::queued_claim machine;  // what to do next

    std::string node{};          // its path; empty: there is none that we know of
    std::uint64_t counter = 0;   // of the node
    bool watched = false;        // the node, while the lock is held
    bool unasked = false;        // as its line was last read: nobody but it has wanted the lock since it came
    bool behind_keeper = false;  // as its line was last read
    spi::time_point looked{};    // at its line, to see who wants it
    spi::time_point until{};     // the end of its lease, as it was last renewed; zero: not granted yet

    std::vector<spi::reply<spi::claim_answer>> claimers{};
    std::vector<spi::reply<spi::release_answer>> releasers{};

    void answer(const spi::claim_answer& reply, deferred_calls& later);
    void answer_release(spi::release_answer reply, deferred_calls& later);
};
using claim_ptr = std::shared_ptr<node_claim>;

// How a claim goes about it on ZooKeeper.
base::queued_claim::rules rules_of(const base::line_entry& claim);

// What a listing says about a claim. `leaves` tells which claims of this client are on their way out.
base::queued_claim::line_view view_of(const node_claim& claim, const line_listing& line,
                                      const std::function<bool(const claim_id&)>& leaves);

}  // namespace mortise::inline v0::stores::zookeeper
