// Where a store listens, as its URL says: for a proxy in between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::checker {

struct store_address {
    std::string before{};  // of the URL: "redis://user:secret@"
    std::string host{};
    std::uint16_t port = 0;
    std::string after{};  // "?prefix=a"

    // The same store by way of a port of this machine.
    std::string through(std::uint16_t proxy) const { return before + "127.0.0.1:" + std::to_string(proxy) + after; }
};

// Nothing if no proxy can stand before the store: it has several addresses, or is on another machine, where a proxy of ours does
// not lead; it speaks TLS, whose certificates name the host; or its servers name others to go to.
std::optional<store_address> address_in(std::string_view url);

}  // namespace mortise::checker
