// Problems with the servers that an operator should know about (mortise doctor).
#pragma once

#include "stores/redis/router.hpp"
#include "stores/redis/server_info.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

// The replies of one server. Unset or empty: our user may not ask.
struct server_report {
    std::string where;
    std::optional<trouble> kept_out{};  // it could not be reached
    std::optional<server_info> info{};
    std::optional<std::string> notices{};  // notify-keyspace-events, if it may be seen; for protocol=setnx
    std::string appendfsync{};
    std::vector<std::size_t> denied{};  // of needed_rights()
    std::string rights_unknown{};       // why they could not be checked
    bool may_flush = false;
    std::string takes_no_claims{};                           // why; not asked where a right for them is missing
    std::optional<std::chrono::microseconds> clock_ahead{};  // of ours
    // The lock whose latest grant lies furthest ahead of the server's clock.
    struct early_grant {
        std::string name;
        std::chrono::microseconds ahead{};
    };
    std::optional<early_grant> set_back{};
    std::chrono::nanoseconds latency{};
};

// Pure: the findings that follow from a report.
std::vector<finding> diagnose(const settings& config, const server_report& seen);

// Asks every server; completes once.
void diagnose_servers(const settings& config, std::shared_ptr<router> servers, spi::clock& clock,
                      spi::reply<std::vector<finding>> done);

}  // namespace mortise::inline v0::stores::redis
