// Reads who holds a lock from the holder's node.
#pragma once

#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/unique_function.hpp>

#include <optional>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

// Gives none if the node is gone, could not be read, or the path is empty. When the lock was granted is not known: a node has
// the time of its creation, but its claim may have waited since.
void look_up_holder(session& servers, const std::string& node,
                    unique_function<void(const request_status&, std::optional<holder>)> done);

}  // namespace mortise::inline v0::stores::zookeeper
