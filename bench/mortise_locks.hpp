// Our own locks as contenders, on any store.
#pragma once

#include "contender.hpp"

#include <mortise/client.hpp>

#include <string>

namespace bench {

// mortise::mutex. One client for each process, one mutex for each thread, all on one name.
contender mutex_on(const std::string& store, const std::string& name, mortise::client_options how = {},
                   mortise::claim_options claim = {});

// client::acquire and hold::release.
contender handle_on(const std::string& store, const std::string& name, mortise::client_options how = {},
                    mortise::claim_options claim = {});

}  // namespace bench
