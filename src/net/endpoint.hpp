// The host and port of a server.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::net {

struct endpoint {
    std::string host;
    std::uint16_t port = 0;

    std::string shown() const;  // "host:port"
    // From a host and a port. None if they are not valid.
    static std::optional<endpoint> of(std::string_view host, std::string_view port);
    // From "host:port" as in store addresses and shown(), with this port if there is none (base/host_port.hpp). None if
    // it is not valid.
    static std::optional<endpoint> in(std::string_view text, std::uint16_t usual_port);
    friend bool operator==(const endpoint&, const endpoint&) = default;
    friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

}  // namespace mortise::inline v0::net
