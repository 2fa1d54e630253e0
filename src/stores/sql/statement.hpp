// Statements, what is bound to them, and what the database answers.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mortise::inline v0::stores::sql {

// NULL, a 64-bit integer, or bytes. Statements bind and return nothing else: a bool is returned as an integer, a text as
// bytes. PostgreSQL has bigint and bytea for them, MySQL BIGINT and VARBINARY.
using value = std::variant<std::monostate, std::int64_t, std::string>;
using values = std::vector<value>;

// What a value holds; nothing and zero where it is NULL or of the other kind.
inline std::string_view bytes_in(const value& one) {
    const auto* text = std::get_if<std::string>(&one);
    return text != nullptr ? std::string_view{*text} : std::string_view{};
}
inline std::int64_t number_in(const value& one) {
    const auto* number = std::get_if<std::int64_t>(&one);
    return number != nullptr ? *number : 0;
}

// NULL also where the row has no such column: a server may answer anything.
const value& value_at(const values& row, std::size_t column);

// Prepared by a connection when it is first run there, and known to it by its address: it must outlive the connection. Its
// parameters are $1, $2, ... on PostgreSQL and ? on MySQL.
struct statement {
    std::string text;
    bool direct = false;  // sent as it is, without parameters and without being prepared: CREATE TABLE, LISTEN
    bool tells = false;   // MySQL: the rows that it answers are notifications, and arrive while it still runs
};

// How a statement ended.
struct outcome {
    enum class kind {
        done,
        unsent,     // there was no connection: it was not sent
        unsure,     // the connection broke before the answer: it may have been done, or may yet be
        conflict,   // a deadlock, a serialization failure or a lock timeout: rolled back; the same again may succeed
        denied,     // the user may not do it, or may not connect
        read_only,  // the server takes no changes: a replica, or a transaction that is read-only
        full,       // its disk or a quota is full
        no_schema,  // a table or a routine of ours is missing
        foreign,    // a table or a routine of ours is there, but is not what we made: a column or a type is wrong
        exists,     // a unique key is taken
        exhausted,  // too many connections, or out of memory
        refused,    // any other error: not done, and would not be if it were sent again
    };
    kind is = kind::done;
    std::string
        detail{};        // one line for people, with the server's code and message; no parameter and no password in it
    bool unmet = false;  // unsent: no server was there (refused, unknown host, another protocol)
    bool hopeless = false;  // unsent: connecting again will not help (password, certificate)

    bool ok() const noexcept { return is == kind::done; }
};

// The rows of the first result of a statement, if it has one.
struct result {
    outcome how{};
    std::vector<values> rows{};
    std::uint64_t affected = 0;  // rows changed
    std::uint64_t inserted = 0;  // MySQL: the AUTO_INCREMENT number of the row that was inserted
};

// Sent by another client through the server (LISTEN and NOTIFY). MySQL has none, but statements that tell.
struct notification {
    std::string channel{};
    std::string payload{};
};

}  // namespace mortise::inline v0::stores::sql
