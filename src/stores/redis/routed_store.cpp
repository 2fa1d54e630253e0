#include "stores/redis/routed_store.hpp"

#include "stores/redis/diagnostics.hpp"
#include "stores/redis/uptime.hpp"

#include <utility>

namespace mortise::inline v0::stores::redis {

routed_store::routed_store(settings config, const std::string& inbox, router::hooks callbacks,
                           const spi::context& context)
    : settings_(std::move(config)),
      promises_(promises_of(settings_)),
      context_(context),
      sockets_(context.clock),
      servers_(router::make(settings_, inbox, std::move(callbacks), context.clock, sockets_)) {}

void routed_store::check(spi::reply<std::vector<finding>> done) {
    diagnose_servers(settings_, servers_, context_.clock, std::move(done));
}

void routed_store::uptime(spi::reply<std::optional<spi::duration>> done) {
    ask_uptime(*servers_, std::move(done));
}

void routed_store::wake(spi::sleeper& sleeper) noexcept {
    if (sleeper.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
        sleeper.is.notify_one();
    } else {
        servers_->nudge(sleeper);
    }
}

int routed_store::start_reading(const spi::sleeper& who) {
    connection* const on = servers_->only();
    return on != nullptr ? on->take_turn(who) : -1;
}

bool routed_store::read_ready(const spi::sleeper& who) {
    connection* const on = servers_->only();
    return on != nullptr && on->read_in_turn(who);
}

void routed_store::stop_reading(const spi::sleeper& who, bool soon) noexcept {
    if (connection* const on = servers_->only()) on->leave_turn(who, soon);
}

void routed_store::close() noexcept {
    if (closed_.exchange(true)) return;
    sockets_.stop();
    servers_->close();
}

}  // namespace mortise::inline v0::stores::redis
