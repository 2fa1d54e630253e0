// Where a server listens.
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
    // As servers name each other. None: it is not an address.
    static std::optional<endpoint> of(std::string_view host, std::string_view port);
    // As store addresses and shown() name it, with this port if none is given (base/host_port.hpp). None: it is not an address.
    static std::optional<endpoint> in(std::string_view text, std::uint16_t usual_port);
    friend bool operator==(const endpoint&, const endpoint&) = default;
    friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

}  // namespace mortise::inline v0::net
