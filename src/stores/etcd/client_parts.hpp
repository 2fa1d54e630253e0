// What the parts of a client share. All of it outlives them.
#pragma once

#include "stores/etcd/lease_pool.hpp"
#include "stores/etcd/members.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/settings.hpp"
#include "stores/etcd/watcher.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>

namespace mortise::inline v0::stores::etcd {

struct client_parts {
    const etcd::settings settings;
    const spi::context context;
    const key_layout keys{settings};
    const std::shared_ptr<members> cluster;
    std::shared_ptr<lease_pool> leases{};
    std::shared_ptr<watcher> watches{};
};

}  // namespace mortise::inline v0::stores::etcd
