#include "net/endpoint.hpp"

#include "base/host_port.hpp"

namespace mortise::inline v0::net {

std::optional<endpoint> endpoint::of(std::string_view host, std::string_view port) {
    const auto number = base::port_number(port);
    return host.empty() || !number ? std::nullopt : std::optional{endpoint{std::string(host), *number}};
}

std::optional<endpoint> endpoint::in(std::string_view text, std::uint16_t usual_port) {
    const auto parts = base::host_port::split(text);
    const auto port = parts && parts->port ? base::port_number(*parts->port) : usual_port;
    return parts && port ? std::optional{endpoint{std::string(parts->host), *port}} : std::nullopt;
}

std::string endpoint::shown() const {
    return (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace mortise::inline v0::net
