// A server as addresses name it.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise::inline v0::base {

// NAME, NAME:PORT, [ADDRESS] or [ADDRESS]:PORT, in its parts. They point into the text.
struct host_port {
    std::string_view host;                   // without brackets
    std::optional<std::string_view> port{};  // as written; port_number() reads it

    // None: there is no host in it, or one that nobody can have.
    static std::optional<host_port> split(std::string_view text);
};

// 1 to 65535.
std::optional<std::uint16_t> port_number(std::string_view text);

}  // namespace mortise::inline v0::base
