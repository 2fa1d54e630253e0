// What etcd costs without us.
#pragma once

#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/raw_limits.hpp>

namespace mortise::inline v0::stores::etcd {

mortise::raw_limits bare_limits(const settings& how);

}  // namespace mortise::inline v0::stores::etcd
