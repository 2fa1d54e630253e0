// What an operator should know of the servers. Pure.
#pragma once

#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// What was seen of the servers.
struct diagnosis {
    std::vector<std::pair<std::string, server_facts>> servers{};  // by address
    std::string failed{};                                         // why there was no reply; empty: there was one
    std::string denied{};                                         // which nodes we may not use; empty: none
    std::chrono::nanoseconds trip{};                              // round trip to the leader
    std::optional<spi::duration> session{};                       // timeout that the servers granted
};

std::vector<finding> findings_of(const settings& settings, const diagnosis& seen);

}  // namespace mortise::inline v0::stores::zookeeper
