// The reply to INFO, and which settings break a promise. Pure.
#pragma once

#include <mortise/config.hpp>
#include <mortise/finding.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// Lines "field:value".
class server_info {
public:
    static server_info of(std::string_view text);

    bool has(std::string_view field) const { return fields_.contains(field); }
    std::string_view text(std::string_view field) const;  // empty if it is not there
    std::int64_t number(std::string_view field) const;    // 0 if it is not there

private:
    std::map<std::string, std::string, std::less<>> fields_;
};

// Settings that break a promise.
std::optional<finding> eviction(const server_info& info);
std::optional<finding> forgetting(const server_info& info);

// Why a strict client must not claim here, with the remedy, in one line. Empty: it may.
std::string broken_promise(const server_info& info);

// By its setting notify-keyspace-events: whether it tells when a key is deleted or expires.
bool tells_of_deletions(std::string_view flags);

}  // namespace mortise::inline v0::stores::redis
