// One connection as libmariadb has it, without blocking. It speaks to MariaDB and to MySQL.
#pragma once

#include "stores/mysql/settings.hpp"
#include "stores/sql/driver.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <memory>

namespace mortise::inline v0::stores::mysql {

// `silence`: after so long without a statement the server ends the connection, with all that it holds.
std::unique_ptr<sql::driver> make_driver(const settings& how, std::chrono::seconds silence);

// The same for each attempt of one connection: each knows how the last one ended.
sql::driver_factory make_drivers(const settings& how, std::chrono::seconds silence);

}  // namespace mortise::inline v0::stores::mysql
