// The server that a channel connects to.
#pragma once

#include "net/endpoint.hpp"
#include "net/tls.hpp"
#include "net/transport.hpp"
#include "net/trouble.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <string>

namespace mortise::inline v0::net {

// Where it is, and what to tell people if it cannot be reached.
struct destination {
    endpoint where;         // port 0: not known yet
    std::string unknown{};  // the message in that case, with a remedy
    std::string called{"the server"};
    tls_settings tls{};
    std::chrono::nanoseconds timeout = std::chrono::seconds{2};  // of a connection attempt

    std::string reason(const transport::result& failed) const;
    // Why it cannot be read or written any more.
    trouble broken(const transport::result& failed) const;
    // Why a connection ended. `proven`: the server was what it should be.
    trouble end_of_stream(const transport::result& ended, bool proven) const;
    // It does not answer.
    trouble silence(bool establishing) const;
};

}  // namespace mortise::inline v0::net
