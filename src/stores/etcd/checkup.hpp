// What an operator should know of a cluster.
#pragma once

#include "stores/etcd/members.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/spi/store.hpp>

#include <vector>

namespace mortise::inline v0::stores::etcd {

void check_up(const settings& how, members& cluster, spi::clock& clock, spi::reply<std::vector<finding>> done);

}  // namespace mortise::inline v0::stores::etcd
