// Why a server cannot be reached.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <string>

namespace mortise::inline v0::net {

struct trouble {
    // Where the remedy comes from: nowhere, `what` contains it, or the store can name the missing permissions.
    enum class remedy : unsigned char { unknown, told, rights };

    errc code = errc::unreachable;
    std::string what{};
    bool hopeless = false;  // retrying is useless: a password, a certificate
    remedy helps = remedy::unknown;
    bool unmet = false;  // no server was there: unknown host, connection refused, another protocol
};

}  // namespace mortise::inline v0::net
