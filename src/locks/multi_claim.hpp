// Claims several names in one fixed order. It sends no request itself: given the answer to one claim, it says what to do next,
// so the blocking form and the form with a callback share it.
//
//   wants_more() --> claim next() --> record(answer) --> ... until all are held
//        |                                          \-> one is refused, or a hold is lost: release what
//        |                                              next_to_release() gives, the latest first
//        no --> answer()
#pragma once

#include "core/engine.hpp"
#include "core/reentry.hpp"
#include "locks/combined_stop.hpp"

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

// One of the names, and its client.
struct part {
    std::shared_ptr<core::engine> engine;
    std::shared_ptr<core::reentry> frames;
    claim wanted;
    core::reentry::hashed_name hashed_name;

    part(const client& locks, std::string_view name, const claim_options& options);
    ~part();
    part(const part&) = delete;
    part& operator=(const part&) = delete;

    const std::string& name() const noexcept { return wanted.name; }
    const std::string& address() const noexcept { return engine->shown_as(); }

    bool same_as(const part& other) const noexcept {
        return name() == other.name() && address() == other.address() &&
               (engine->policy().addressed() || engine == other.engine);
    }
};
using parts = std::vector<std::unique_ptr<part>>;

// Sorted, without duplicates. Throws invalid_option if there is none.
std::shared_ptr<const parts> in_order(parts given);

// What is left of the caller's wait. All names share one deadline.
class countdown {
public:
    countdown(const spi::clock& clock, std::optional<std::chrono::nanoseconds> wait);
    std::optional<std::chrono::nanoseconds> left() const;
    // A caller that wanted to wait is answered timed_out, even if no time was left for the last name and it was just busy.
    std::error_code reason(std::error_code why) const;

private:
    const spi::clock& clock_;
    const std::optional<std::chrono::nanoseconds> wait_;
    std::optional<boot_clock::time_point> deadline_;
};

class multi_claim {
public:
    multi_claim(std::shared_ptr<const parts> of, const wait_options& how, valid_while rule);
    multi_claim(const multi_claim&) = delete;
    multi_claim& operator=(const multi_claim&) = delete;

    bool wants_more() const noexcept { return !refused_ && taken_.size() < parts_->size(); }
    claim next() const;                     // for engine()
    core::engine& engine() const noexcept;  // of the next name, or of the last one
    void record(attempt answer);

    std::optional<hold> next_to_release();  // release it, then call again
    multi_attempt answer();

private:
    const part& current() const noexcept { return *(*parts_)[std::min(taken_.size(), parts_->size() - 1)]; }
    const part* lost_one() const noexcept;
    void refuse(refusal why, const part& at);

    const std::shared_ptr<const parts> parts_;
    const valid_while rule_;
    const countdown time_;
    const std::stop_token lock_stop_;
    const std::stop_token call_stop_;
    combined_stop stop_;
    std::vector<hold> taken_;
    std::optional<multi_attempt> refused_;
    core::engine* last_;
};

}  // namespace mortise::inline v0::locks
