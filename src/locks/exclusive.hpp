// What mutex and recursive_mutex have in common: one exclusive claim per owner, and a count.
#pragma once

#include "core/reentry.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0::locks {

enum class nesting { refused, counted };

// An answer that a throwing form throws and an error_code form reports.
struct outcome {
    std::error_code code{};
    std::string detail{};

    explicit operator bool() const noexcept { return !code; }
    bool just_busy() const noexcept;  // what try_lock answers with false
    void or_throw() const;
};

class exclusive {
public:
    exclusive(client& locks, std::string_view name, claim_options options, nesting when_held);
    ~exclusive();
    exclusive(const exclusive&) = delete;
    exclusive& operator=(const exclusive&) = delete;

    outcome lock(core::owner_key who, std::optional<std::chrono::nanoseconds> wait);
    std::error_code unlock(core::owner_key who) noexcept;
    const mortise::hold& hold(core::owner_key who) const;
    const std::string& name() const noexcept { return claim_.name; }

    // The three public shapes of a verb.
    void lock_or_throw(core::owner_key who);
    void lock_or_say(core::owner_key who, std::error_code& ec);
    bool try_or_throw(core::owner_key who, std::chrono::nanoseconds wait);
    bool try_or_say(core::owner_key who, std::error_code& ec);

private:
    outcome enter_again(core::reentry::frame& frame);
    outcome say(errc why, const std::string& what = {}) const;

    const std::shared_ptr<core::engine> engine_;
    const std::shared_ptr<core::reentry> frames_;
    const nesting nesting_;
    const claim claim_;
    const core::reentry::place place_;  // of claim_.name
    std::atomic<int> inside_{0};        // frames first locked through this object
};

}  // namespace mortise::inline v0::locks
