// The holders among the nodes of a line, and what their nodes contain. Pure.
#pragma once

#include "stores/zookeeper/names.hpp"

#include <mortise/config.hpp>
#include <mortise/holder.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// The data of a node: three lines, host, process and label. A line that cannot be read is empty. After the process stands whether its
// client may keep the lock while it is idle, and hears of whoever asks.
std::string holder_record(std::string_view host, std::int64_t pid, std::string_view label, bool keeps = false);
holder read_holder(std::string_view data);
bool keeps_idle(std::string_view data);

// In the order of the line.
std::vector<node_name> holders_of(std::span<const node_name> line);

}  // namespace mortise::inline v0::stores::zookeeper
