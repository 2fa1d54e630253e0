// What an operator sees and does from outside: who holds what, to take it away, and whether the database is fit for it.
#pragma once

#include "stores/sql/row_parts.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::sql {

void list_rows(const std::shared_ptr<const row_parts>& parts, spi::reply<spi::listing> done);
void break_row(const std::shared_ptr<const row_parts>& parts, const spi::break_request& which,
               spi::reply<spi::break_answer> done);

// Whether the server answers, the schema is there or can be made, and the user has the rights: by a claim of a name that nobody
// uses. `server`: the address, for people.
void check_rows(const std::shared_ptr<const row_parts>& parts, std::string server,
                spi::reply<std::vector<finding>> done);

}  // namespace mortise::inline v0::stores::sql
