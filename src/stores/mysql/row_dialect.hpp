// The routines and statements of MySQL and MariaDB for claims that are rows of a table.
#pragma once

#include "stores/sql/row_dialect.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::stores::mysql {

// Tables and routines begin with mortise_, in the database of the connection.
sql::row_dialect row_dialect();

// Blocks until a claim has left its line, or for some time: its id, that of a claim behind it, seconds. Answers 1 if it has left,
// and the number of the other, if that was granted, or 0.
sql::statement await_row();

}  // namespace mortise::inline v0::stores::mysql
