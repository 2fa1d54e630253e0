// Who hears what becomes of a session.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

// Called on the thread that delivers replies, in order with them; session_expired() on the one that replaces the handle.
class session_listener {
public:
    virtual ~session_listener() = default;
    virtual void session_started(std::int64_t id, spi::time_point requested_at, spi::duration timeout) = 0;
    virtual void session_reconnected(spi::duration timeout) = 0;  // the same session, perhaps on another server
    virtual void session_expired() = 0;                           // the next request starts a new one
    virtual void node_changed(const std::string& path) = 0;       // a watch: of the node, or of its children
};

}  // namespace mortise::inline v0::stores::zookeeper
