// Reads who holds a lock from the holder's node.
#pragma once

#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/unique_function.hpp>

#include <optional>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

// Answers none if the node is gone, could not be read, or the path is empty. When the lock was granted is not known: a node has
// the time of its creation, but its claim may have waited since. `keeps`: its client may keep the lock while it is idle.
void look_up_holder(session& servers, const std::string& node,
                    unique_function<void(const request_status&, std::optional<holder>, bool keeps)> done);

}  // namespace mortise::inline v0::stores::zookeeper
