// What is said to the server by the strategies whose locks belong to a connection.
#pragma once

#include "stores/mysql/settings.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0::stores::mysql {

struct bound_statements {
    // On the connection of the claim.
    sql::statement take;      // and wait
    sql::statement take_now;  // or not
    sql::statement free;
    sql::statement who;  // answers with the connection's number
    std::vector<sql::statement> greets;

    // On the one that all claims share.
    sql::statement stamp;         // for_update: makes a token
    sql::statement make_row;      // for_update
    sql::statement forget_range;  // records of holds that are over
    sql::statement forget_dead;
    sql::statement holder;
    sql::statement list;
    sql::statement stop;  // ends the statement of a connection
    sql::statement kill;  // ends a connection
    sql::statement find;  // the connection that holds with a token
    std::vector<sql::statement> schema;

    explicit bound_statements(strategy by);
};

}  // namespace mortise::inline v0::stores::mysql
