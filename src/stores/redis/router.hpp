// Routes requests to the server that keeps a name.
#pragma once

#include "stores/redis/messages.hpp"
#include "stores/redis/server.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redis {

class router {
public:
    // Called with no lock held.
    struct hooks {
        // On the inbox, or on a channel that is listened to.
        std::function<void(std::string_view channel, std::string_view message)> pushed;
        std::function<void()> reconnected;  // after an outage or a failover
    };

    virtual ~router();

    // Sends to the server that keeps `key`, and follows redirections. Calls `done` once, unless the router is closed before.
    virtual void ask(std::string_view key, script_call request, handler done) = 0;
    // The same, and reports how many replicas have acknowledged. It is an error if the server no longer keeps the key.
    virtual void ask_durably(std::string_view key, script_call request, unsigned replicas, durable_handler done) = 0;

    // One or the other; the first reports no replicas.
    void ask_for(std::string_view key, script_call request, unsigned replicas, durable_handler done);

    // Keys of the same group can be passed to one script.
    virtual std::uint32_t group_of(std::string_view key) const = 0;

    // A connection to each master; to every configured server while the masters are unknown.
    virtual std::vector<std::shared_ptr<connection>> masters() = 0;

    // Runs `then` once the masters are known, or with the error if they cannot be.
    virtual void when_known(handler then) { then({.is = reply::kind::text}); }

    // Reads until `sleeper` has its reply. On the thread that sent last.
    virtual void wait(spi::sleeper& sleeper) = 0;
    virtual void nudge(const spi::sleeper& sleeper) noexcept = 0;
    // The connection over which all is sent, if there is only one.
    virtual connection* only() const noexcept { return nullptr; }

    // Whether a claim waits for a push.
    virtual void expect_pushes(bool whether) = 0;

    // Messages on a channel of the server that keeps `key`, until as many have left as have come; see connection::listen().
    virtual void listen(std::string_view key, std::string_view channel, handler ready) = 0;
    virtual void leave(std::string_view key, std::string_view channel) = 0;

    virtual void close() noexcept = 0;

    static std::shared_ptr<router> make(const settings& config, const std::string& inbox, hooks callbacks,
                                        spi::clock& clock, poller& sockets);
};

// The other topologies; router::make chooses.
std::shared_ptr<router> make_sentinel_router(const settings& config, const std::string& inbox, router::hooks callbacks,
                                             spi::clock& clock, poller& sockets);
std::shared_ptr<router> make_cluster_router(const settings& config, const std::string& inbox, router::hooks callbacks,
                                            spi::clock& clock, poller& sockets);

}  // namespace mortise::inline v0::stores::redis
