// A plain connection to MariaDB, as the documents' code has one.
#pragma once

#include "lab/stage/sql_account.hpp"
#include "lab/stage/text.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct st_mysql;  // MYSQL of libmariadb

namespace lab {

// The server has refused a connection, or a statement for a reason that no story tells.
struct sql_error : std::runtime_error {
    sql_error(unsigned error, const std::string& what) : std::runtime_error(what), number(error) {}
    unsigned number;
};

// What others do to a statement is an answer: a duplicate key, a deadlock, a wait that took too long.
struct sql_answer {
    static constexpr unsigned duplicate = 1062, waited_too_long = 1205, deadlock = 1213;

    unsigned error = 0;
    std::vector<std::string> rows{};  // with commas between their columns
    std::uint64_t changed = 0;        // rows, by a statement that returns none
    bool returns_rows = false;
    bool counts_rows = false;  // those that it returns or changes; START TRANSACTION does not

    bool ok() const { return error == 0; }
    std::optional<std::string> value() const { return rows.empty() ? std::nullopt : std::optional(rows.front()); }
};

text to_text(const sql_answer&);

// One statement at a time; it blocks. Nothing of ours is between the caller and the server.
class raw_sql {
public:
    explicit raw_sql(const sql_account& where);  // throws sql_error

    sql_answer operator()(const std::string& statement);
    void send(const std::string& statement);  // and does not wait for its answer; the last that is run here

    st_mysql* get() const { return mysql_.get(); }

private:
    std::unique_ptr<st_mysql, void (*)(st_mysql*)> mysql_;
};

}  // namespace lab
