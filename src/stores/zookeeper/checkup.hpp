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

struct examination {
    std::vector<std::pair<std::string, server_facts>> servers{};  // by address
    std::string failed{};                                         // why there was no answer; empty: there was
    std::string denied{};                                         // which nodes are not ours to use; empty: none
    std::chrono::nanoseconds trip{};                              // how long the leader took
    std::optional<spi::duration> session{};                       // as the servers gave it
};

std::vector<finding> findings_of(const settings& how, const examination& seen);

}  // namespace mortise::inline v0::stores::zookeeper
