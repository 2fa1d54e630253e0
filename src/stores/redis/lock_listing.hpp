// All locks that are held on all servers.
#pragma once

#include "stores/redis/router.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::stores::redis {

// Scans all keys of every server: for people, not for programs in a hurry. Completes once.
void list_locks(const std::string& prefix, const std::shared_ptr<router>& servers, spi::reply<spi::listing> done);

}  // namespace mortise::inline v0::stores::redis
