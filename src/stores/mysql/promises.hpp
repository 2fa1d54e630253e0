// What locks on MySQL and MariaDB promise.
#pragma once

#include "stores/mysql/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::mysql {

mortise::promises promises_of(const settings& how);  // for_update and get_lock
mortise::promises promises_of_row(const settings& how);

// Of a hold that ends with its connection. The server ends a connection that is silent for the option `session`; whoever holds
// with it must have noticed by then.
std::chrono::nanoseconds bound_lease(const settings& how);

}  // namespace mortise::inline v0::stores::mysql
