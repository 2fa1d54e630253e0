// What a database administrator runs before the first use, with the least rights: what `mortise schema` prints.
#pragma once

#include "stores/mysql/settings.hpp"

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::mysql {

std::string bound_schema(const settings& how);  // for_update and get_lock
std::string row_schema(const settings& how);

}  // namespace mortise::inline v0::stores::mysql
