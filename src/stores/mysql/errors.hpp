// What the numbers of errors mean: those of MariaDB, of MySQL and of the client library. Pure.
#pragma once

#include "net/tls.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <string_view>

namespace mortise::inline v0::stores::mysql {

// An error of a statement. Numbers that only one of the two servers has mean the same to both.
sql::outcome failure_of(unsigned number, std::string_view message);

// An error while a connection was made and set up.
sql::outcome connect_failure_of(unsigned number, std::string_view message, const net::tls_settings& tls);

// The connection is gone after this error, whatever it says.
bool ends_connection(unsigned number) noexcept;

}  // namespace mortise::inline v0::stores::mysql
