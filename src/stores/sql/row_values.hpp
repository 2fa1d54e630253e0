// What is bound to the statements of a claim (row_dialect.hpp). Pure.
#pragma once

#include "stores/sql/row_claim.hpp"
#include "stores/sql/row_line.hpp"
#include "stores/sql/row_parts.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstdint>
#include <span>

namespace mortise::inline v0::stores::sql {

values enter_values(const row_parts& parts, const row_claim& claim, bool only_if_it_holds);
values look_values(const row_parts& parts, const row_claim& claim, std::int64_t most_rows);
values confirm_values(const row_claim& claim);
// `guards`: claims that have to be there still.
values move_values(const row_parts& parts, const row_claim& claim, const claim_id& place_of,
                   std::span<const claim_id> guards, const row_line& line);

}  // namespace mortise::inline v0::stores::sql
