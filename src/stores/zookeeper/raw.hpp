// What ZooKeeper costs without us.
#pragma once

#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/raw_limits.hpp>

namespace mortise::inline v0::stores::zookeeper {

mortise::raw_limits bare_limits(const settings& how);

}  // namespace mortise::inline v0::stores::zookeeper
