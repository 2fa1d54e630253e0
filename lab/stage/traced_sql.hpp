// An actor's plain connection to MariaDB, which tells what is said on it.
#pragma once

#include "lab/stage/raw_sql.hpp"

#include <string>

namespace lab {

class actor;

// What is told: the statement, its answer, and the rows of the watched tables after it, those of open transactions too. The
// server's NOW() is the stage's time on it.
class traced_sql {
public:
    explicit traced_sql(actor& me);  // throws sql_error

    sql_answer operator()(const std::string& statement);

    // The same for a statement that may wait in the server: the director sees whether it does.
    sql_answer waiting(const std::string& statement);

    // Does not wait for the answer. Nothing else can be run here after it.
    void send(const std::string& statement);

    st_mysql* get() const { return spoken_.get(); }

private:
    void set_time(raw_sql& on) const;
    std::string state();
    std::string rows_of(const std::string& table);

    actor& me_;
    raw_sql spoken_;
    raw_sql unheard_;
};

}  // namespace lab
