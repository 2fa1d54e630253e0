// Why nothing gets through to a server.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <string>

namespace mortise::inline v0::net {

struct trouble {
    // Who knows what to do about it: nobody, `what` itself, or the store, which can name the rights that are missing.
    enum class remedy : unsigned char { unknown, told, rights };

    errc code = errc::unreachable;
    std::string what{};
    bool hopeless = false;  // it will not mend by itself: a password, a certificate
    remedy helps = remedy::unknown;
    bool unmet = false;  // nobody was there: no such host, a connection that was refused, another protocol
};

}  // namespace mortise::inline v0::net
