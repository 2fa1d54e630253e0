// What the parts of a client share: the store, the time, and where the user hears of things.
#pragma once

#include "base/process.hpp"
#include "core/notifications.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <cstdint>
#include <system_error>

namespace mortise::inline v0::core {

struct store_link {
    spi::store& store;
    spi::clock& clock;
    core::notifications& notifications;
    const client_options& options;
    const std::uint64_t generation;
    std::atomic<bool> closed{false};  // no new claims
    std::atomic<bool> shut{false};    // the store is closed

    bool forked() const noexcept { return generation != base::fork_generation(); }
    bool usable() const noexcept { return !forked() && !shut.load(); }
    // Why nothing may be asked any more, if that is so.
    std::error_code ended() const noexcept { return forked() ? errc::forked : closed.load() ? errc::closed : errc{}; }
};

}  // namespace mortise::inline v0::core
