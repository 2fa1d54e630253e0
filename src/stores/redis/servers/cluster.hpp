// Redis servers of a test as a cluster.
#pragma once

#include "stores/redis/servers/server.hpp"
#include "support/server_group.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

// Three masters with a third of the slots each, and a replica of each.
class cluster {
public:
    static constexpr std::size_t masters = 3;

    // A server that is silent for so long is taken for dead.
    explicit cluster(std::chrono::milliseconds silence = std::chrono::seconds{1});

    fleet& nodes() { return nodes_; }  // the masters of the beginning, then their replicas in the same order
    std::string addresses() const;     // of all

    // The one that serves the slot, by its own word and the latest; none in between.
    server* master_of(std::uint16_t slot);
    std::vector<server*> keepers();  // all masters
    server& await_master_other_than(const server& old, std::uint16_t slot);

    // Gives a slot to another master as an operator would, with the keys in it, when everything is settled. In two steps: in
    // between its keys are partly here and partly there.
    void begin_move(std::uint16_t slot, server& to);
    void end_move(std::uint16_t slot, server& to);

    // Until everything is as in the beginning, but for who is a master. Everything must run.
    void await_settled();

private:
    bool settled();

    testing::server_group home_;
    fleet nodes_;
};

}  // namespace mortise::inline v0::stores::redis::servers
