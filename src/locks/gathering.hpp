// How several names are taken: one after the other, in an order that everybody keeps. It asks nobody itself: told what came
// of one claim, it says what comes next, so the form that blocks and the one that calls back are the same.
//
//   wants_more() --> next(), ask for it, took(answer) --> ... all taken
//        |                                            \-> refused, or one that was taken is lost: to_give_back(), the last
//        |                                                taken first, until there is none
//        no --> answer()
#pragma once

#include "core/engine.hpp"
#include "core/reentry.hpp"
#include "locks/wait_end.hpp"

#include <mortise/attempt.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/hold.hpp>
#include <mortise/multi_lock.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mortise::inline v0::locks {

// One name, and where it is.
struct part {
    std::shared_ptr<core::engine> engine;
    std::shared_ptr<core::reentry> frames;
    claim wanted;
    core::reentry::place place;

    part(const client& locks, std::string_view name, const claim_options& options);
    ~part();
    part(const part&) = delete;
    part& operator=(const part&) = delete;

    const std::string& name() const noexcept { return wanted.name; }
    const std::string& address() const noexcept { return engine->shown_as(); }

    bool same_as(const part& other) const noexcept {
        return name() == other.name() && address() == other.address() &&
               (engine->addressed() || engine == other.engine);
    }
};
using parts = std::vector<std::unique_ptr<part>>;

// Sorted, without repeats. Throws invalid_option for none at all.
std::shared_ptr<const parts> in_order(parts given);

// What is left of the caller's wait; every name is asked with the same deadline.
class countdown {
public:
    countdown(const spi::clock& clock, std::optional<std::chrono::nanoseconds> wait);
    std::optional<std::chrono::nanoseconds> left() const;
    // Who wanted to wait is told that time ran out, also if none was left for the last name.
    std::error_code reason(std::error_code why) const;

private:
    const spi::clock& clock_;
    const std::optional<std::chrono::nanoseconds> wait_;
    std::optional<boot_clock::time_point> deadline_;
};

class gathering {
public:
    gathering(std::shared_ptr<const parts> of, const wait_options& how);
    gathering(const gathering&) = delete;
    gathering& operator=(const gathering&) = delete;

    bool wants_more() const noexcept { return !no_ && taken_.size() < parts_->size(); }
    claim next() const;                     // to be asked of engine()
    core::engine& engine() const noexcept;  // of the name that is next, or was last
    void took(attempt got);

    std::optional<hold> to_give_back();  // release it, and ask again
    multi_attempt answer();

private:
    const part& current() const noexcept { return *(*parts_)[std::min(taken_.size(), parts_->size() - 1)]; }
    const part* lost_one() const noexcept;
    void refuse(refusal why, const part& at);

    const std::shared_ptr<const parts> parts_;
    const countdown time_;
    const std::stop_token lock_stop_;
    const std::stop_token call_stop_;
    wait_end end_;
    std::vector<hold> taken_;
    std::optional<multi_attempt> no_;
    core::engine* last_;
};

}  // namespace mortise::inline v0::locks
