#include "net/endpoint.hpp"

#include "base/address_options.hpp"

namespace mortise::inline v0::net {

std::optional<endpoint> endpoint::of(std::string_view host, std::string_view port) {
    const auto number = base::number_in<std::uint16_t>(port, 1, 65535);
    return host.empty() || !number ? std::nullopt : std::optional{endpoint{std::string(host), *number}};
}

std::string endpoint::shown() const {
    return (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace mortise::inline v0::net
