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
    std::string failed{};                                         // why the leader did not answer; empty: it did
    std::chrono::nanoseconds trip{};                              // how long that took
    std::optional<spi::duration> session{};                       // as the servers gave it
};

std::vector<finding> findings_of(const settings& how, const examination& seen);

}  // namespace mortise::inline v0::stores::zookeeper
