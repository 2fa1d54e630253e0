// What all arrangements need to start.
#pragma once

#include "stores/redis/servers/server.hpp"
#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

namespace mortise::inline v0::stores::redis::servers {

using testing::free_port;
using testing::with_free_ports;

// An error is no answer: a server may be busy, or not know the others yet.
inline void await(const std::function<bool()>& holds, const char* what) {
    const auto calm = [&] {
        try {
            return holds();
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    if (!testing::eventually(calm, std::chrono::seconds{60})) throw std::runtime_error(std::string("servers: ") + what);
}

// "host:port,host:port"
inline std::string addresses_of(const fleet& all) {
    std::string addresses;
    for (const auto& one : all) addresses += (addresses.empty() ? "" : ",") + one->address();
    return addresses;
}

}  // namespace mortise::inline v0::stores::redis::servers
