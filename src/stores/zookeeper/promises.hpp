// What ZooKeeper promises.
#pragma once

#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::zookeeper {

mortise::promises promises_of(const settings& settings);

}  // namespace mortise::inline v0::stores::zookeeper
