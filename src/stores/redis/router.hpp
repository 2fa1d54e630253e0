// Which server keeps a name, and how to ask it.
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
        std::function<void(std::string_view message)> pushed;  // to the inbox
        std::function<void()> reconnected;                     // a server was out of reach, or another took its place
    };

    virtual ~router();

    // Asks the server that keeps `key`; follows where it leads. `done` is called once, unless the router is closed before.
    virtual void ask(std::string_view key, call what, handler done) = 0;
    // The same, and says how many replicas have what was written. A server that keeps the key no longer is an error.
    virtual void ask_durably(std::string_view key, call what, unsigned replicas, durable_handler done) = 0;

    // Keys with the same number can be asked for in one call.
    virtual std::uint32_t group_of(std::string_view key) const = 0;

    // One connection to each server that keeps names; as long as those are not known, to each that may know them.
    virtual std::vector<std::shared_ptr<connection>> everywhere() = 0;

    // Runs `then` once they are known, or if it is hopeless to ask for them.
    virtual void once_known(handler then) { then({.is = reply::kind::text}); }

    // Returns once `who` was answered; reads meanwhile. On the thread that asked last.
    virtual void wait(spi::sleeper& who) = 0;
    virtual void nudge(const spi::sleeper& who) noexcept = 0;

    // Somebody waits for a push.
    virtual void expect_pushes(bool whether) = 0;

    virtual void close() noexcept = 0;

    static std::shared_ptr<router> make(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock,
                                        poller& sockets);
};

// The other shapes; router::make chooses.
std::shared_ptr<router> watched_by_sentinels(const settings& how, const std::string& inbox, router::hooks tell,
                                             spi::clock& clock, poller& sockets);
std::shared_ptr<router> in_a_cluster(const settings& how, const std::string& inbox, router::hooks tell,
                                     spi::clock& clock, poller& sockets);

}  // namespace mortise::inline v0::stores::redis
