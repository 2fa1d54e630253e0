// Why nothing gets through to a server.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <string>

namespace mortise::inline v0::net {

struct trouble {
    errc code = errc::unreachable;
    std::string what{};
    bool hopeless = false;  // it will not mend by itself: a password, a certificate
};

}  // namespace mortise::inline v0::net
