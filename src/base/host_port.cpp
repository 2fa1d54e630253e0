#include "base/host_port.hpp"

#include "base/text.hpp"

namespace mortise::inline v0::base {

std::optional<host_port> host_port::split(std::string_view text) {
    const bool bracketed = text.starts_with('[');
    const std::size_t end = text.find(bracketed ? ']' : ':');
    if (bracketed && end == text.npos) return std::nullopt;
    const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
    if (host.empty() || host.find_first_of(" @[]") != host.npos) return std::nullopt;
    const std::string_view rest = text.substr(bracketed ? end + 1 : host.size());
    if (rest.empty()) return host_port{host};
    if (!rest.starts_with(':')) return std::nullopt;
    return host_port{host, rest.substr(1)};
}

std::optional<std::uint16_t> port_number(std::string_view text) {
    return number_in<std::uint16_t>(text, 1, 65535);
}

}  // namespace mortise::inline v0::base
