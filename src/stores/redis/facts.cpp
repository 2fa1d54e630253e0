#include "stores/redis/facts.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::inline v0::stores::redis {

facts facts::of(std::string_view info) {
    facts told;
    while (!info.empty()) {
        const std::size_t end = std::min(info.find('\n'), info.size());
        std::string_view line = info.substr(0, end);
        info.remove_prefix(std::min(end + 1, info.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0 || line.front() == '#') continue;
        told.fields_.insert_or_assign(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
    }
    return told;
}

std::string_view facts::text(std::string_view field) const {
    const auto it = fields_.find(field);
    return it == fields_.end() ? std::string_view{} : it->second;
}

std::int64_t facts::number(std::string_view field) const {
    const std::string_view digits = text(field);
    std::int64_t n = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return n;
}

std::optional<finding> eviction(const facts& told) {
    const std::string policy{told.text("maxmemory_policy")};
    if (policy.empty() || policy == "noeviction" || told.number("maxmemory") == 0) return std::nullopt;
    return finding{
        finding::grade::warning,
        "maxmemory-policy is " + policy + ": when memory runs short Redis throws locks away while they are held",
        "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"};
}

std::optional<finding> forgetting(const facts& told) {
    if (!told.has("aof_enabled") || told.number("aof_enabled") != 0) return std::nullopt;
    return finding{finding::grade::warning,
                   "appendonly is no: a server that is started again has forgotten locks while they are held",
                   "CONFIG SET appendonly yes, CONFIG SET appendfsync always, and the same in redis.conf"};
}

std::string broken_promise(const facts& told) {
    if (!told.has("maxmemory_policy") || !told.has("aof_enabled"))
        return "INFO does not say how memory and disk are used, and a strict client has to know";
    for (const auto& flaw : {eviction(told), forgetting(told)})
        if (flaw) return flaw->what + " (strict; " + flaw->remedy + ")";
    return {};
}

}  // namespace mortise::inline v0::stores::redis
