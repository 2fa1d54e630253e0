// Locks that their clients keep while they are idle: a keeper hears of whoever asks.
//
//   waits      it makes its node in the line, whose children the keeper watches
//   does not   it makes a node there and removes it, in one transaction: the watch fires, and nothing stays
#pragma once

#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

class keepers {
public:
    explicit keepers(session& servers) : servers_(servers) {}

    // From the transaction on that made its node, nobody else has come to the line or shall come unheard: the session's listener is
    // told of a change of the line, once; or `changed` is called, if that may have happened by then.
    void listen(const std::string& line, std::uint64_t made_by, unique_function<void()> changed);

    // Tells who keeps the lock, at this node, that somebody asks; not again while it is remembered.
    void ask(const std::string& line, const std::string& node);

private:
    // The nodes of those who have been told; of two whose lines share a place the later.
    struct told {
        std::mutex mutex;
        std::array<std::string, 64> latest;
    };

    session& servers_;
    const std::shared_ptr<told> told_ = std::make_shared<told>();
};

}  // namespace mortise::inline v0::stores::zookeeper
