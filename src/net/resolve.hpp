// Asynchronous name resolution.
#pragma once

#include "net/endpoint.hpp"

#include <mortise/config.hpp>

#include <functional>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace mortise::inline v0::net {

struct resolved_address {
    sockaddr_storage where{};
    socklen_t length = 0;
};

// Resolves a host. Numeric addresses are answered inside the call, names on a separate thread. Either the addresses or
// `why` are empty.
void resolve(const endpoint& where, std::function<void(std::vector<resolved_address>, std::string why)> done);

}  // namespace mortise::inline v0::net
