// Locks that are kept as other clients keep them, and shared with these.
#pragma once

#include "stores/redis/peer_protocol.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>

namespace mortise::inline v0::stores::redis {

std::unique_ptr<spi::store> make_peer_store(std::unique_ptr<const peer_protocol> how, settings config,
                                            const spi::context& context);

}  // namespace mortise::inline v0::stores::redis
