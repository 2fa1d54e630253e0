// All locks that are held on all servers.
#pragma once

#include "stores/redis/router.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// Scans all keys of every server: for people, not for programs in a hurry. Completes once.
void list_locks(const std::string& prefix, const std::shared_ptr<router>& servers, spi::reply<spi::listing> done);
// A page of that. See spi::store::list_part().
void list_some_locks(const std::string& prefix, const std::shared_ptr<router>& servers, std::string_view from,
                     spi::reply<spi::listing> done);

}  // namespace mortise::inline v0::stores::redis
