// Whether the servers let us keep locks under a path.
#pragma once

#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <string>

namespace mortise::inline v0::stores::zookeeper {

// Asks to read the node and to make one under it, and changes nothing. If it is not there, what is above it is asked for.
// Answers how that went, and for which node.
void ask_for_rights(session& servers, const std::string& path,
                    unique_function<void(const outcome&, const std::string& path)> done);

}  // namespace mortise::inline v0::stores::zookeeper
