// The statements of strategy=advisory that take a lock and free it. Each says which session has answered.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::stores::postgres {

extern const sql::statement try_statement;     // the lock's key: a token, or NULL if the lock is not free
extern const sql::statement wait_statement;    // the lock's key: a token
extern const sql::statement unlock_statement;  // the lock's key, and the session that holds it

}  // namespace mortise::inline v0::stores::postgres
