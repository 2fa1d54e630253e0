// What an operator should know of the servers.
#pragma once

#include "stores/redis/facts.hpp"
#include "stores/redis/router.hpp"

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

// What was asked of one server. Unset or empty: it may not be asked by our user.
struct examination {
    std::string where;
    std::optional<trouble> kept_out{};  // it could not be reached at all
    std::optional<facts> info{};
    std::string appendfsync{};
    std::vector<std::size_t> denied{};  // of needed_rights()
    std::string rights_unknown{};       // why they could not be asked
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

// Pure: what follows from the answers.
std::vector<finding> judge(const settings& how, const examination& seen);

// Asks every server; answers once.
void check_up(const settings& how, std::shared_ptr<router> servers, spi::clock& clock,
              spi::reply<std::vector<finding>> done);

}  // namespace mortise::inline v0::stores::redis
