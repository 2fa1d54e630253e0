// When the claims of a client have to be looked at again.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::core {

// Called with a shard's mutex held; must not call back.
class schedule {
public:
    virtual ~schedule() = default;
    // Some claim is due then. It may be told again, and the claim may be gone by then.
    virtual void look_by(spi::time_point due) = 0;
};

}  // namespace mortise::inline v0::core
