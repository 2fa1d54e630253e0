// What the core is told if a statement failed.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::mysql {

spi::claim_answer answer_of(const sql::outcome& how);

}  // namespace mortise::inline v0::stores::mysql
