// The node of a line, which is the parent of its claims' nodes.
#pragma once

#include "stores/zookeeper/session.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <string>

namespace mortise::inline v0::stores::zookeeper {

// Creates it and what is missing above it. The root and its ancestors stay; a line is a container, which the servers remove some
// time after its last node.
void create_line_node(session& servers, const std::string& root, const std::string& line,
                      unique_function<void(const request_status&)> done);

}  // namespace mortise::inline v0::stores::zookeeper
