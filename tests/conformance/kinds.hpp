// The kinds of lock that the suite knows. A new exclusive kind is one more line in all_kinds().
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/hold.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::testing {

// The named requirements of the standard, as far as a compiler can check them.
template <class L>
concept basic_lockable = requires(L& lock) {
    lock.lock();
    lock.unlock();
};
template <class L>
concept lockable = basic_lockable<L> && requires(L& lock) {
    { lock.try_lock() } -> std::same_as<bool>;
};
template <class L>
concept timed_lockable = lockable<L> && requires(L& lock) {
    { lock.try_lock_for(std::chrono::milliseconds{1}) } -> std::same_as<bool>;
    { lock.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
// What every lock of ours has besides.
template <class L>
concept fleet_lockable = timed_lockable<L> && requires(L& lock, std::error_code& ec) {
    lock.lock(ec);
    { lock.try_lock(ec) } -> std::same_as<bool>;
    requires noexcept(lock.unlock());
    requires noexcept(lock.unlock(ec));
    { std::as_const(lock).hold() } -> std::same_as<const mortise::hold&>;
    { std::as_const(lock).name() } -> std::same_as<const std::string&>;
};

// A multi_lock of one name is one more mutex.
class lone_multi_lock : public multi_lock {
public:
    lone_multi_lock(client& locks, std::string_view name, claim_options options)
        : multi_lock(locks, {name}, std::move(options)) {}
    const mortise::hold& hold() const { return multi_lock::hold().at(name()); }
    const std::string& name() const noexcept { return names().front(); }
};

// Any kind of exclusive lock, on one name of one client. It is TimedLockable itself, so it can be given to the guards of
// the standard library.
class lock_driver {
public:
    virtual ~lock_driver() = default;

    virtual void lock() = 0;
    virtual void lock(std::error_code& ec) = 0;
    virtual bool try_lock() = 0;
    virtual bool try_lock_for(std::chrono::nanoseconds wait) = 0;
    virtual bool try_lock_until(std::chrono::steady_clock::time_point deadline) = 0;
    virtual void unlock() noexcept = 0;
    virtual void unlock(std::error_code& ec) noexcept = 0;
    virtual const mortise::hold& hold() const = 0;
};

template <fleet_lockable Lock>
class driver_of final : public lock_driver {
public:
    driver_of(client& locks, std::string_view name, claim_options options) : lock_(locks, name, std::move(options)) {}

    void lock() override { lock_.lock(); }
    void lock(std::error_code& ec) override { lock_.lock(ec); }
    bool try_lock() override { return lock_.try_lock(); }
    bool try_lock_for(std::chrono::nanoseconds wait) override { return lock_.try_lock_for(wait); }
    bool try_lock_until(std::chrono::steady_clock::time_point deadline) override {
        return lock_.try_lock_until(deadline);
    }
    void unlock() noexcept override { lock_.unlock(); }
    void unlock(std::error_code& ec) noexcept override { lock_.unlock(ec); }
    const mortise::hold& hold() const override { return lock_.hold(); }

private:
    Lock lock_;
};

struct kind {
    std::string_view name;
    bool reentrant;
    std::unique_ptr<lock_driver> (*make)(client& locks, std::string_view name, claim_options options);

    template <fleet_lockable Lock>
    static kind of(std::string_view name, bool reentrant) {
        return {name, reentrant,
                [](client& locks, std::string_view of, claim_options options) -> std::unique_ptr<lock_driver> {
                    return std::make_unique<driver_of<Lock>>(locks, of, std::move(options));
                }};
    }
};

inline const std::vector<kind>& all_kinds() {
    static const std::vector<kind> all{
        kind::of<mutex>("mutex", false),
        kind::of<recursive_mutex>("recursive_mutex", true),
        kind::of<shared_mutex>("shared_mutex", false),  // as a writer; its other ways are in shared_test.cpp
        kind::of<lone_multi_lock>("multi_lock", false),
    };
    return all;
}

}  // namespace mortise::testing
