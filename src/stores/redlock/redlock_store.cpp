#include "stores/redlock/redlock_store.hpp"

#include "stores/redlock/settings.hpp"

#include <mortise/spi/client.hpp>
#include <mortise/spi/quorum.hpp>

#include <utility>
#include <vector>

namespace mortise::inline v0::stores::redlock {

spi::store_factory open(const base::url& address) {
    const settings config = settings::of(address);
    std::vector<spi::quorum_node> nodes;
    for (const settings::node& one : config.nodes) nodes.push_back({one.host, spi::factory_of(one.address)});
    return spi::quorum_of(std::move(nodes), config.quorum);
}

}  // namespace mortise::inline v0::stores::redlock
