#include "stores/redis/server_info.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::inline v0::stores::redis {

server_info server_info::of(std::string_view text) {
    server_info info;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0 || line.front() == '#') continue;
        info.fields_.insert_or_assign(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
    }
    return info;
}

std::string_view server_info::text(std::string_view field) const {
    const auto it = fields_.find(field);
    return it == fields_.end() ? std::string_view{} : it->second;
}

std::int64_t server_info::number(std::string_view field) const {
    const std::string_view digits = text(field);
    std::int64_t n = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return n;
}

std::optional<finding> eviction(const server_info& info) {
    const std::string policy{info.text("maxmemory_policy")};
    if (policy.empty() || policy == "noeviction" || info.number("maxmemory") == 0) return std::nullopt;
    return finding{
        finding::grade::warning,
        "maxmemory-policy is " + policy + ": when memory runs short Redis throws locks away while they are held",
        "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"};
}

std::optional<finding> forgetting(const server_info& info) {
    if (!info.has("aof_enabled") || info.number("aof_enabled") != 0) return std::nullopt;
    return finding{finding::grade::warning,
                   "appendonly is no: a server that is started again has forgotten locks while they are held",
                   "CONFIG SET appendonly yes, CONFIG SET appendfsync always, and the same in redis.conf"};
}

std::string broken_promise(const server_info& info) {
    if (!info.has("maxmemory_policy") || !info.has("aof_enabled"))
        return "INFO does not say how memory and disk are used, and a strict client has to know";
    for (const auto& flaw : {eviction(info), forgetting(info)})
        if (flaw) return flaw->what + " (strict; " + flaw->remedy + ")";
    return {};
}

// K: by key. g: deletions, x: expiries, A: all.
bool tells_of_deletions(std::string_view flags) {
    const auto has = [&](char c) { return flags.find(c) != std::string_view::npos; };
    return has('K') && (has('A') || (has('g') && has('x')));
}

}  // namespace mortise::inline v0::stores::redis
