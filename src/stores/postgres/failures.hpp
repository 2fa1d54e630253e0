// What an error of the server means to us.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::stores::postgres {

// Of a statement. `state`: the SQLSTATE, five letters and digits; `message`: one line of the server's.
sql::outcome failure_of_statement(std::string_view state, std::string_view message);

// Of a connection that was not made. `text`: as libpq describes it with PQERRORS_VERBOSE, which has the SQLSTATE in it if the
// server sent one. `where`: the server, for people.
sql::outcome failure_to_connect(const std::string& where, std::string_view text);

// The first line, without what libpq says about where in the server's source it happened.
std::string first_line(std::string_view text);

}  // namespace mortise::inline v0::stores::postgres
