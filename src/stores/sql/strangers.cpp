#include "stores/sql/strangers.hpp"

#include <array>
#include <cstddef>

namespace mortise::inline v0::stores::sql {
namespace {

struct greeting_of {
    std::string_view begins;
    std::string_view is;
};

// Some are said by themselves, others in answer to what our libraries say first, or to PING.
constexpr std::array known_greetings{
    greeting_of{"-DENIED", "a Redis server"},    greeting_of{"-ERR", "a Redis server"},
    greeting_of{"-NOAUTH", "a Redis server"},    greeting_of{"+PONG", "a Redis server"},
    greeting_of{"HTTP/", "a web server"},        greeting_of{"SSH-", "an SSH server"},
    greeting_of{"220 ", "a mail or FTP server"}, greeting_of{"* OK", "a mail server"},
    greeting_of{"+OK", "a mail server"},         greeting_of{"\x15\x03", "a server for TLS"}};

// A packet: three bytes of length, its number, which is 0, and the version of the protocol, or an error.
bool is_of_mysql(std::string_view bytes) {
    constexpr std::size_t to_version = 4;
    constexpr char protocol = 10;
    constexpr char error = static_cast<char>(0xff);
    if (bytes.size() <= to_version + 1 || bytes[2] != 0 || bytes[3] != 0) return false;
    const bool greets = bytes[to_version] == protocol && bytes[to_version + 1] >= '0' && bytes[to_version + 1] <= '9';
    return greets || bytes[to_version] == error;
}

}  // namespace

std::string server_that_says(std::string_view first_bytes) {
    for (const greeting_of& one : known_greetings)
        if (first_bytes.starts_with(one.begins)) return std::string(one.is);
    return is_of_mysql(first_bytes) ? "a MySQL or MariaDB server" : "";
}

std::string wrong_server(const std::string& where, std::string_view first_bytes, const std::string& wanted) {
    const std::string is = server_that_says(first_bytes);
    return where + (is.empty() ? " does not speak as " + wanted + " does" : " is " + is + ", not " + wanted) +
           "; is the port right?";
}

}  // namespace mortise::inline v0::stores::sql
