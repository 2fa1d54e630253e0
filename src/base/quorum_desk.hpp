// What the claims, renewals and releases of one quorum share: its nodes, the rounds that are under way, and the claims that it knows.
#pragma once

#include "base/ended_claims.hpp"
#include "base/quorum_node.hpp"
#include "base/quorum_rounds.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/promises.hpp>
#include <mortise/spi/quorum.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::base {

struct quorum_claim_round;
struct quorum_release_round;

// What the core knows by its id. The nodes know each attempt by a value of its own: one that has failed may still arrive late,
// after its release, and must then be nobody's.
struct quorum_entry {
    std::string name;
    claim_id value;
    spi::duration lease{};
    bool granted = false;
    std::uint64_t counter = 0;  // then, if there are tokens
    std::string label{};
    spi::claim_request wanted{};  // without its texts
    std::shared_ptr<quorum_claim_round> claiming{};
    std::shared_ptr<quorum_release_round> releasing{};
};

struct quorum_desk {
    using lock = std::unique_lock<std::mutex>;

    quorum_desk(const std::vector<spi::quorum_node>& which, const spi::quorum_options& given,
                const spi::context& outer);

    // How long a node has to answer.
    spi::duration time_for(spi::duration lease) const { return std::min(options.node_timeout, lease / 5); }
    // Until when a node may keep a claim that nobody renews.
    spi::time_point gone_by(spi::duration lease) const;
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept;
    void close() noexcept;

    const spi::quorum_options options;
    const spi::context context;
    std::vector<std::unique_ptr<quorum_node>> nodes;
    mortise::promises promises;
    std::atomic<bool> closed{false};

    std::mutex mutex;
    // With the mutex held.
    quorum_rounds rounds{context.clock, mutex};
    std::unordered_map<claim_id, quorum_entry> entries;
    ended_claims<1024> ended;  // released: the latest
};

}  // namespace mortise::inline v0::base
