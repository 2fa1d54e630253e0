// Whether the servers permit us to keep locks under a path.
#pragma once

#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <string>

namespace mortise::inline v0::stores::zookeeper {

// Tries to read the node and to create one under it, and changes nothing. If the node does not exist, its nearest ancestor that
// does is asked for. Gives the result, and the node that it is about.
void check_permissions(session& servers, const std::string& path,
                       unique_function<void(const request_status&, const std::string& path)> done);

}  // namespace mortise::inline v0::stores::zookeeper
