// What `mortise doctor` says about a PostgreSQL server.
#pragma once

#include "stores/postgres/settings.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>

#include <vector>

namespace mortise::inline v0::stores::postgres {

// Asks the server for all that findings_of() reads.
const sql::statement& facts_statement();

// Pure.
std::vector<finding> findings_of(const settings& settings, const sql::result& facts);

}  // namespace mortise::inline v0::stores::postgres
