// The wire format of Redis, versions 2 and 3.
#pragma once

#include "net/trouble.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redis {

// A reply of the server, or that none came.
struct reply {
    enum class kind : unsigned char {
        text,
        error,
        integer,
        null,
        list,    // also sets and maps, the latter as key, value, key, value
        push,    // not a reply to a command
        failed,  // no reply came; the text says why, the number is an errc if a retry is hopeless
    };
    kind is = kind::null;
    net::trouble::remedy helps{};  // if it failed
    std::int64_t number = 0;
    std::string_view text{};  // into the reader's buffer
    std::vector<reply> items{};
    bool unmet = false;  // if it failed: the server was never reached

    bool failure() const noexcept { return is == kind::failed; }
    bool error() const noexcept { return is == kind::error; }
    // The value of a map's key; null if there is none.
    const reply& at(std::string_view key) const noexcept;
};

// Parses bytes into replies. A stream that is not RESP, or exceeds the limits, is broken for good.
class reader {
public:
    static constexpr std::size_t deepest = 32;
    static constexpr std::int64_t most_elements = std::int64_t{1} << 20;
    static constexpr std::int64_t longest_text = std::int64_t{16} << 20;

    // Where the next bytes go, and how many came. Invalidates all replies returned so far.
    std::span<char> space();
    void filled(std::size_t bytes) noexcept { end_ += bytes; }

    enum class parse_status { value, more, broken };
    parse_status next(reply& out);

private:
    struct cursor;

    std::vector<char> buffer_ = std::vector<char>(16 * 1024);
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// Appends a command with its arguments to `out`.
class command {
public:
    explicit command(std::string& out) : out_(out) {}  // adds arguments to a command that has begun
    command(std::string& out, std::size_t arguments);
    command& operator<<(std::string_view argument);
    command& operator<<(std::int64_t argument);

private:
    std::string& out_;
};
void append(std::string& out, std::initializer_list<std::string_view> arguments);

}  // namespace mortise::inline v0::stores::redis
