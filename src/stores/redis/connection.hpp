// Commands and replies over one socket to one server, and pushes. Who writes and who reads is net::channel's.
//
// It connects when first used, and again by itself when it breaks. What was sent on a broken connection and not answered
// fails with reply::kind::failed: whether it took effect is not known.
#pragma once

#include "net/channel.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/resp.hpp"
#include "stores/redis/settings.hpp"

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

// Called once, from the thread that reads, with no lock held. Replies are good during the call.
using handler = unique_function<void(const reply&)>;

class connection final : public net::channel {
public:
    using plan = connection_plan;
    // Called from the thread that reads, with no lock held.
    struct hooks {
        std::function<void(std::string_view channel, std::string_view message)> pushed{};
        std::function<void()> up{};
        std::function<void(const trouble&)> down{};
    };

    connection(settings how, plan what, hooks tell, spi::clock& clock, poller& sockets);

    // From now on it leads elsewhere. What is on its way there fails.
    void move_to(const endpoint& where);
    // It is not known where it leads, and will not be soon.
    void fail(const trouble& why);

    void send(std::string_view bytes, handler done) { send(bytes, std::span{&done, 1}); }
    // Several commands in a row, with a handler each.
    void send(std::string_view bytes, std::span<handler> done);

    // Breaks the connection and makes it anew: the other side is not what it should be.
    void start_over(const trouble& why);

    // Of a strict client: why nothing should be claimed here, as it was found on connecting. Empty: no reason.
    bool strict() const noexcept { return how_.strict; }
    std::string flaw() const;

private:
    struct pending {
        handler done;
        spi::time_point sent;
    };

    // With the mutex held.
    void established(lock& held) override;
    bool answers_due() const override { return !pending_.empty(); }
    void look_for_late(lock& held) override;
    void lost(lock& held) override;
    void forget(lock& held) noexcept override;

    // On the thread that reads, without it.
    std::span<char> space() override { return input_.space(); }
    bool took(const line& from, std::size_t bytes) override;
    bool greeted(const reply& said);

    const settings how_;
    const plan plan_;  // but where it leads is to_.where
    const hooks tell_;

    spi::time_point heard_{};
    std::deque<pending> pending_;
    std::string flaw_;

    greeting greeting_;  // of whoever reads
    reader input_;       // likewise
};

}  // namespace mortise::inline v0::stores::redis
