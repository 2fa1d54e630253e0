// What the mutexes share: one claim per owner, and a count.
#pragma once

#include "core/reentry.hpp"
#include "locks/lock_call.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mortise::inline v0::locks {

enum class nesting { refused, counted };

// What lock() answers. Forms that throw throw it, forms with an error_code report it.
struct lock_reply {
    std::error_code code{};
    std::string detail{};

    explicit operator bool() const noexcept { return !code; }
    bool just_busy() const noexcept;  // try_lock returns false
    void or_throw() const;

    // True if locked, false if just busy. Other errors are thrown, or reported.
    bool or_busy() const;
    bool or_busy(std::error_code& ec) const noexcept;
};

// What the last unlock of a lock kept, for whoever locks it next.
class kept_frame {
public:
    ~kept_frame() { take(); }
    core::reentry::loose_frame take() noexcept {
        return core::reentry::loose_frame{frame_.exchange(nullptr, std::memory_order_acq_rel)};
    }
    // Answers what was there before.
    core::reentry::loose_frame put(core::reentry::loose_frame fresh) noexcept {
        return core::reentry::loose_frame{frame_.exchange(fresh.release(), std::memory_order_acq_rel)};
    }

private:
    std::atomic<core::reentry::entry*> frame_{nullptr};
};

class owned_lock {
public:
    using wait_for = std::optional<std::chrono::nanoseconds>;  // none: for ever

    owned_lock(client& locks, std::string_view name, claim_options options, std::uint32_t capacity, nesting when_held);
    ~owned_lock();
    owned_lock(const owned_lock&) = delete;
    owned_lock& operator=(const owned_lock&) = delete;

    // With the whole capacity, or a part of it.
    lock_reply lock(core::owner_key owner, wait_for wait) { return lock(owner, wait, claim_.capacity); }
    lock_reply lock(core::owner_key owner, wait_for wait, std::uint32_t weight);
    std::error_code unlock(core::owner_key owner) noexcept;
    std::error_code unlock(core::owner_key owner, std::uint32_t weight) noexcept;  // not_owner: locked in another way

    // The owner's hold becomes one of another weight in one step. `from`: the weights from which that cannot deadlock.
    lock_reply exchange(core::owner_key owner, wait_for wait, std::uint32_t weight,
                        std::initializer_list<std::uint32_t> from);

    // The handle form: the hold belongs to no owner. Without how.wait it waits for ever.
    attempt acquire(std::uint32_t weight, const wait_options& how) const;
    void start(std::uint32_t weight, const wait_options& how, unique_function<void(attempt)> done) const;

    // A hold of this lock becomes one of another weight. What fails leaves `old` as it was.
    attempt exchange(const mortise::hold& old, const wait_options& how, std::uint32_t weight,
                     std::initializer_list<std::uint32_t> from) const;
    void start_exchange(const mortise::hold& old, const wait_options& how, std::uint32_t weight,
                        std::initializer_list<std::uint32_t> from, unique_function<void(attempt)> done) const;

    const mortise::hold& hold(core::owner_key owner) const;
    const std::string& name() const noexcept { return claim_.name; }

    // The public forms of a verb.
    void lock_or_throw(core::owner_key owner) { lock(owner, std::nullopt).or_throw(); }
    void lock_or_report(core::owner_key owner, std::error_code& ec) { ec = lock(owner, std::nullopt).code; }
    bool try_or_throw(core::owner_key owner, std::chrono::nanoseconds wait) { return lock(owner, wait).or_busy(); }
    bool try_or_report(core::owner_key owner, std::error_code& ec) { return lock(owner, wait_for{0}).or_busy(ec); }

private:
    bool take_again(core::owner_key owner);
    lock_reply enter_again(core::reentry::frame& frame);
    lock_reply refuse(errc why, const std::string& what = {}) const;
    lock_call call(std::uint32_t weight, const wait_options& how) const;
    core::settled_claim settled(std::uint32_t weight) const;
    std::optional<refusal> objection(const mortise::hold& old, std::uint32_t weight,
                                     std::initializer_list<std::uint32_t> from) const;

    const std::shared_ptr<core::engine> engine_;
    const std::shared_ptr<core::reentry> frames_;
    const nesting nesting_;
    const claim claim_;
    const core::settled_claim settled_;             // of claim_, with the whole capacity
    const core::reentry::hashed_name hashed_name_;  // of claim_.name
    std::atomic<int> inside_{0};                    // frames first locked through this object, kept ones included
    kept_frame kept_;
};

}  // namespace mortise::inline v0::locks
