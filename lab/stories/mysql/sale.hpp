// A sale in the table of the stock: reads it, and writes what is left.
#pragma once

#include "lab/stage/traced_sql.hpp"

#include <mortise/sql/optimistic.hpp>

#include <string>

namespace lab::sale {

// False: there was none left.
inline bool sell(traced_sql& sql) {
    const int left = std::stoi(sql("SELECT n FROM ticket").value().value_or("0"));
    if (left == 0) return false;
    sql("UPDATE ticket SET n = " + std::to_string(left - 1));
    return true;
}

}  // namespace lab::sale
