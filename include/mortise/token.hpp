// The fencing token.
#pragma once

#include <mortise/config.hpp>

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace mortise::inline v0 {

// A fencing token: a number with which a resource can reject former holders. Tokens strictly increase over conflicting
// grants of one name: a later holder always has a larger token, whatever was paused, delayed or partitioned. Tokens of
// different names are unrelated.
//
// The upper 54 bits are the store's counter, the lower 10 the turn of a hand-over within one process, so that a lock
// that is handed over without a request to the store also gets a new token. To a resource it is just a number. In JSON
// write it as a string: a double cannot represent it.
class token {
public:
    static constexpr unsigned turn_bits = 10;
    static constexpr std::uint64_t most_turns = (std::uint64_t{1} << turn_bits) - 1;

    constexpr token() noexcept = default;
    constexpr explicit token(std::uint64_t value) noexcept : value_(value) {}
    static constexpr token of(std::uint64_t counter, std::uint64_t turn) noexcept {
        return token{(counter << turn_bits) | turn};
    }

    constexpr std::uint64_t value() const noexcept { return value_; }
    constexpr std::uint64_t counter() const noexcept { return value_ >> turn_bits; }
    constexpr std::uint64_t turn() const noexcept { return value_ & most_turns; }

    friend constexpr auto operator<=>(token, token) noexcept = default;

private:
    std::uint64_t value_ = 0;
};

inline std::string to_string(token t) {
    return std::to_string(t.value());
}
MORTISE_API std::ostream& operator<<(std::ostream&, token);

}  // namespace mortise::inline v0
