// Locks that their clients keep while they are idle: a keeper hears of whoever asks.
//
//   waits      it makes its node in the line, whose children the keeper watches; and marks the line if the keeper reads, who may
//              look when it is gone
//   does not   it makes a node there and removes it, and marks the line's own node, in one transaction: the watch fires, and the
//              mark says that it was no reader who came and went
#pragma once

#include "stores/zookeeper/line_reader.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

class keepers {
public:
    keepers(const naming& names, session& servers) : names_(names), servers_(servers) {}

    // Shows the line as it is now, or nothing if it could not be read. From then on the session's listener is told of who comes or
    // goes, once.
    void listen(const std::string& path, unique_function<void(const line_listing*)> seen);

    // Tells those who keep the lock that somebody asks; not again while the node of the first of them is remembered.
    void ask(const std::string& path, const node_stat& floor, const std::string& node);

private:
    // The nodes of those who have been told; of two whose lines share a place the later.
    struct told {
        std::mutex mutex;
        std::array<std::string, 64> latest;
    };

    const naming& names_;
    session& servers_;
    const std::shared_ptr<told> told_ = std::make_shared<told>();
};

}  // namespace mortise::inline v0::stores::zookeeper
