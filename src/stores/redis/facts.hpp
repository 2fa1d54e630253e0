// What a server says about itself, and what follows for locks. Pure.
#pragma once

#include <mortise/config.hpp>
#include <mortise/finding.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// Lines "field:value", as INFO answers.
class facts {
public:
    static facts of(std::string_view info);

    bool has(std::string_view field) const { return fields_.contains(field); }
    std::string_view text(std::string_view field) const;  // empty if it is not there
    std::int64_t number(std::string_view field) const;    // 0 if it is not there

private:
    std::map<std::string, std::string, std::less<>> fields_;
};

// Settings that break a promise; nothing if they do not.
std::optional<finding> eviction(const facts& told);
std::optional<finding> forgetting(const facts& told);

// Why a strict client claims nothing here, one line with what to do. Empty: no reason.
std::string broken_promise(const facts& told);

}  // namespace mortise::inline v0::stores::redis
