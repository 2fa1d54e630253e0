// What locks on etcd promise.
#pragma once

#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::etcd {

mortise::promises promises_of(const settings& how);

}  // namespace mortise::inline v0::stores::etcd
