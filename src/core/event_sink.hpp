// Where it is noted what happened to a lock.
#pragma once

#include <mortise/config.hpp>
#include <mortise/observer.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/token.hpp>

#include <string>
#include <system_error>

namespace mortise::inline v0::core {

// Called with a shard's mutex held, so that events are noted in the order in which they happened; must not call back.
class event_sink {
public:
    virtual ~event_sink() = default;
    virtual void emit(event_kind kind, const std::string& name, token t = {}, std::error_code reason = {},
                      spi::duration took = {}) noexcept = 0;
};

}  // namespace mortise::inline v0::core
