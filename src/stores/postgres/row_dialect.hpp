// PostgreSQL's routines and statements for claims that are rows of a table.
#pragma once

#include "stores/sql/row_dialect.hpp"

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::postgres {

// In this schema of the database.
sql::row_dialect row_dialect_in(const std::string& schema);

}  // namespace mortise::inline v0::stores::postgres
