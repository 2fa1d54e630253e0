// What the stores on Redis have in common: their servers, and how callers sleep while these are asked.
#pragma once

#include "stores/redis/promises.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

// Who derives from it calls close() in its destructor: the hooks are its own.
class routed_store : public spi::store {
public:
    const mortise::promises& promises() const noexcept override { return promises_; }
    // A late renewal may extend an abandoned lease once more.
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease ? std::optional{2 * *lease} : std::nullopt;
    }
    void check(spi::reply<std::vector<finding>> done) override;
    void uptime(spi::reply<std::optional<spi::duration>> done) override;
    void will_sleep(bool whether) noexcept override { connection::will_wait(whether); }
    void sleep(spi::sleeper& sleeper) override { servers_->wait(sleeper); }
    void wake(spi::sleeper& sleeper) noexcept override;
    int start_reading(const spi::sleeper& who) override;
    bool read_ready(const spi::sleeper& who) override;
    void stop_reading(const spi::sleeper& who, bool soon) noexcept override;
    void close() noexcept override;

protected:
    routed_store(settings config, const std::string& inbox, router::hooks callbacks, const spi::context& context);

    const settings settings_;
    const mortise::promises promises_;
    const spi::context context_;
    std::atomic<bool> closed_{false};

private:
    poller sockets_;

protected:
    const std::shared_ptr<router> servers_;
};

}  // namespace mortise::inline v0::stores::redis
