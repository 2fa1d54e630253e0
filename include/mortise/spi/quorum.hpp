// A store of stores: a lock is held if a majority of them grants it.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::inline v0 {

namespace spi {

// One of the stores. They must be independent: no node may copy what another has.
struct quorum_node {
    std::string name;  // for messages: its address
    store_factory make;
};

struct quorum_options {
    std::string store = "quorum";  // promises::store

    // How long a node has to answer; a fifth of the lease at most. An attempt ends as soon as its result is certain, so this
    // costs time only if a majority is not there.
    duration node_timeout = std::chrono::milliseconds{500};

    // A grant of which less is left is given back: the lease, less what the attempt took, less the drift of clocks. Zero: any
    // that has not ended.
    duration min_validity{};
    double drift = 0.01;  // of the lease, and
    duration margin = std::chrono::milliseconds{2};

    // A node that started more recently does not vote, because it may have forgotten a lock that is still held. It is the
    // longest lease too: what a node forgot has ended when it votes again. Zero: all vote. Needs store::uptime.
    duration settle{};

    // Tokens that a majority agrees on: a second round of each claim. The nodes must promise tokens and raises_tokens. A node that has
    // forgotten its tokens votes once a majority that has not has told it how large they were; before the first claim of
    // all, every node must answer once.
    bool fenced = false;
};

// A lock is held while more than half of the nodes grant it. Each attempt has a random value of its own, the same on all nodes,
// which are asked at once. If it fails it is released on all of them, also where no answer came. Renewals need a majority
// too; a node that has forgotten a lock, or was away, is given it again then.
//
// Such a store has exclusive locks with a lease, tokens if they are asked for, and nothing else. It does not queue: who waits asks
// again. Throws errc::invalid_option if there is no node; the factory throws errc::unsupported if one lacks what it needs.
MORTISE_API store_factory quorum_of(std::vector<quorum_node> nodes, quorum_options options = {});

}  // namespace spi

}  // namespace mortise::inline v0
