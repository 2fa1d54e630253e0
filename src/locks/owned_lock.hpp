// What the mutexes share: one claim per owner, and a count.
#pragma once

#include "core/reentry.hpp"
#include "locks/lock_call.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
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

// What the last unlock of a lock kept, for whoever locks it next. Shared with the unlock: once the word is idle, another thread may
// lock, unlock and destroy the lock before the unlock has put away what it keeps.
class kept_frame {
public:
    using loose_frame = core::reentry::loose_frame;

    ~kept_frame() { close(); }
    loose_frame take() noexcept {
        if (frame_.load(std::memory_order_relaxed) == nullptr) return nullptr;
        return loose_frame{frame_.exchange(nullptr, std::memory_order_acq_rel)};
    }
    // Answers what was there before; or all of it, if the lock is gone.
    loose_frame put(loose_frame fresh) noexcept {
        core::reentry::entry* before = frame_.load(std::memory_order_acquire);
        do {
            if (before == closed()) return fresh;
        } while (!frame_.compare_exchange_weak(before, fresh.get(), std::memory_order_acq_rel));
        static_cast<void>(fresh.release());
        return loose_frame{before};
    }
    void close() noexcept {
        core::reentry::entry* const last = frame_.exchange(closed(), std::memory_order_acq_rel);
        if (last != closed()) loose_frame{last};
    }

private:
    static core::reentry::entry* closed() noexcept { return reinterpret_cast<core::reentry::entry*>(1); }

    std::atomic<core::reentry::entry*> frame_{nullptr};
};

// All that the unlocks of a lock kept: one grant of the whole, and of a shared_mutex as many reads as were inside together, up to
// a limit.
class kept_frames {
public:
    using loose_frame = kept_frame::loose_frame;

    explicit kept_frames(bool reads_too);
    // The next place at which to look for what this owner may take; null after the last. Each thread begins at one of its own.
    class places {
    public:
        places(kept_frames& of, core::owner_key owner, bool whole) noexcept;
        kept_frame* next() noexcept;

    private:
        kept_frames& of_;
        std::size_t at_;
        std::size_t left_;
        bool whole_;
    };
    // What there is no place for is released.
    void put(loose_frame fresh, core::owner_key owner, bool whole);
    void close() noexcept;

private:
    static constexpr std::size_t most_reads = 16;

    kept_frame whole_;
    const std::unique_ptr<std::array<kept_frame, most_reads>> reads_;
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
    bool take_again(core::owner_key owner, std::uint32_t weight);
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
    std::atomic<int> inside_{0};                    // no fewer than the frames first locked through this object
    const std::shared_ptr<kept_frames> kept_;
};

}  // namespace mortise::inline v0::locks
