// The routines and statements of MySQL and MariaDB for claims that are rows of a table.
#pragma once

#include "stores/sql/row_dialect.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::stores::mysql {

// Tables and routines begin with mortise_, in the database of the connection.
sql::row_dialect row_dialect();

// Session, ids, the id of another claim or NULL, seconds: tells which of these claims were granted, ids and numbers of 16 and 8
// bytes, 0 for those that have to look; and sleeps. When the other leaves its line it tells that again, with a byte behind it. Whoever grants a claim to the session may
// also end it, which is a conflict.
sql::statement await_grants();

}  // namespace mortise::inline v0::stores::mysql
