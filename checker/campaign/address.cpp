#include "checker/campaign/address.hpp"

#include <charconv>
#include <map>

namespace mortise::checker {
namespace {

const std::map<std::string_view, std::uint16_t> usual_ports{
    {"redis", 6379},   {"etcd", 2379},     {"zookeeper", 2181},  {"mysql", 3306},
    {"mariadb", 3306}, {"postgres", 5432}, {"postgresql", 5432},
};

}  // namespace

std::optional<store_address> address_in(std::string_view url) {
    const auto scheme_ends = url.find("://");
    if (scheme_ends == url.npos) return std::nullopt;
    const auto usual = usual_ports.find(url.substr(0, scheme_ends));
    if (usual == usual_ports.end()) return std::nullopt;
    auto begin = scheme_ends + 3;
    const auto end = std::min(url.find_first_of("/?", begin), url.size());
    if (const auto at = url.substr(begin, end - begin).rfind('@'); at != url.npos) begin += at + 1;
    const std::string_view where = url.substr(begin, end - begin);
    if (where.empty() || where.find(',') != where.npos || where.front() == '[') return std::nullopt;
    store_address found{std::string(url.substr(0, begin)), std::string(where.substr(0, where.find(':'))), usual->second,
                        std::string(url.substr(end))};
    if (const auto colon = where.find(':'); colon != where.npos) {
        const auto* last = where.data() + where.size();
        if (std::from_chars(where.data() + colon + 1, last, found.port).ptr != last) return std::nullopt;
    }
    if (found.host != "127.0.0.1" && found.host != "localhost") return std::nullopt;
    return found;
}

}  // namespace mortise::checker
