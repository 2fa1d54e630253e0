// Names of hosts to addresses, without waiting for it.
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

// Addresses written as numbers are answered on the spot; names on a thread of their own, however long that takes. Either the
// addresses are empty or `why` is.
void resolve(const endpoint& where, std::function<void(std::vector<resolved_address>, std::string why)> done);

}  // namespace mortise::inline v0::net
