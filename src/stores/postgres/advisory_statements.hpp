// The statements of strategy=advisory that take a lock and free it. Each says which session has answered.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::stores::postgres {

// The lock's key: a token, NULL if the lock is not free.
inline const sql::statement try_statement{
    "SELECT CASE WHEN pg_try_advisory_lock($1) THEN nextval('mortise_tokens') END, pg_backend_pid()"};
inline const sql::statement wait_statement{
    "SELECT nextval('mortise_tokens'), pg_backend_pid() FROM pg_advisory_lock($1)"};
// The lock's key, and the session that holds it.
inline const sql::statement unlock_statement{"SELECT CASE WHEN pg_backend_pid() = $2 THEN pg_advisory_unlock($1) END"};

}  // namespace mortise::inline v0::stores::postgres
