// Commands, replies and pushes over one socket to one server. net::channel decides which thread writes and reads.
//
// It connects on first use and reconnects by itself. If it breaks, commands without a reply fail with reply::kind::failed:
// whether they took effect is unknown.
#pragma once

#include "net/channel.hpp"
#include "stores/redis/handshake.hpp"
#include "stores/redis/known_scripts.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/settings.hpp"
#include "stores/redis/subscriptions.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

using net::poller;

// Called once, from the thread that reads, with no lock held. The reply is valid only during the call.
using handler = unique_function<void(const reply&)>;

class connection final : public net::channel {
public:
    using plan = connection_plan;
    // Called from the thread that reads, with no lock held.
    struct hooks {
        std::function<void(std::string_view channel, std::string_view message)> pushed{};
        std::function<void()> up{};
        std::function<void(const trouble&)> down{};
        std::function<void()> unheard{};  // the server has ended a subscription
    };

    connection(settings config, plan what, hooks callbacks, spi::clock& clock, poller& sockets);

    // Reconnects to another server. Commands without a reply fail.
    void move_to(const endpoint& where);
    // The address of the server is not known and will not be soon: fails what waits for it.
    void fail(const trouble& why);

    void send(std::string_view bytes, handler done) { send(bytes, std::span{&done, 1}); }
    // Several commands in a row, with a handler each.
    void send(std::string_view bytes, std::span<handler> done);

    // Messages on the channel go to hooks::pushed, also after a reconnect, until as many have left as have come. Of several
    // listeners one subscription is made. `ready`: once no message is missed any more, or with the error.
    void listen(std::string_view topic, handler ready);
    void leave(std::string_view topic);

    // Drops the connection and reconnects: the server is not what it should be.
    void start_over(const trouble& why);

    // Why a strict client must not claim here, as found on connecting. Empty: it may.
    bool strict() const noexcept { return settings_.strict; }
    std::string flaw() const;

    known_scripts& scripts_there() noexcept { return scripts_there_; }

private:
    struct pending {
        handler done;
        spi::time_point sent;
        std::string channel{};  // of a subscription, which a push answers
    };

    // With the mutex held.
    bool take(lock& held, std::string_view bytes, std::span<handler> done, std::string_view topic = {});
    trouble why_not_taken() const;
    bool told(std::string_view topic) const;
    std::string subscription(std::string_view topic, bool whether) const;
    void subscribe_again();
    void established(lock& held) override;
    bool answers_due() const override { return !pending_.empty(); }
    void look_for_late(lock& held) override;
    void lost(lock& held) override;
    void forget(lock& held) noexcept override;

    // On the thread that reads, without it.
    std::span<char> space() override { return input_.space(); }
    bool pushed(const reply& news);
    bool took(const transport_ptr& from, std::size_t bytes) override;
    bool greeted(const reply& answer);

    const settings settings_;
    const plan plan_;  // the current address is to_.where
    const hooks callbacks_;

    spi::time_point heard_{};
    std::deque<pending> pending_;
    subscriptions channels_;
    known_scripts scripts_there_;
    std::string flaw_;
    bool notifies_ = false;

    handshake handshake_;  // used by the reading thread
    reader input_;         // likewise
};

}  // namespace mortise::inline v0::stores::redis
