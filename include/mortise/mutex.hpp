// std::mutex, but for a fleet.
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// One name, one holder, across every thread, process and machine that uses the same store.
//
//     mortise::client locks{"memory:"};
//     mortise::mutex tickets{locks, "ticket"};
//     std::scoped_lock guard{tickets};
//
// As with std::timed_mutex: Lockable and TimedLockable, so std::scoped_lock, std::unique_lock and std::lock work. One
// object may be shared by threads, or each may make its own: only the name counts. The thread that locks unlocks.
// (std::lock takes several by trying and backing off, which under contention can go on for seconds between fair locks;
// to take several names often, use multi_lock, which takes them in one fixed order.)
//
// What is different:
//  - A hold can be **lost**: a lease runs out when the process is paused, or the store cannot be reached, for longer
//    than the lease. hold().valid() tells, hold().lost() is a stop_token, the client's observer hears of it. Nothing
//    can stop a paused process from having believed; send hold().token() with what you write.
//  - lock() can **fail**, and throws mortise::error: store unreachable, client closed, process forked.
//  - Locking a name that this thread already holds through any mutex of the same client is answered would_deadlock
//    (try_lock: false), never a silent hang. To nest, use recursive_mutex.
//  - Threads of one process that lock() in a circle, each holding what the next one waits for, do not hang: after a
//    moment one of them is answered would_deadlock, and the message names who holds and wants what. Only waits that nothing
//    can end are looked at (no limit, no options.stop), and docs/concepts.md says which circles are not seen.
//  - unlock() never throws: the result of a release goes to the observer, and to whoever calls the form with
//    error_code. An unlock by a thread that holds nothing releases nothing (errc::not_owner).
//
// Options are taken at construction. `options.wait` does not apply: the verbs say how long to wait.
class MORTISE_API mutex {
public:
    mutex(client& locks, std::string_view name,
          claim_options options = {});  // throws invalid_name, invalid_option, ...
    ~mutex();                           // releases what is still locked through this object
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock();
    void lock(std::error_code& ec);

    // False when busy (or when this thread holds it already). Throws, or sets `ec`, when the store gives no answer.
    bool try_lock();
    bool try_lock(std::error_code& ec);

    bool try_lock_for(detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);

    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;  // lost: the lease had ended; not_owner; unreachable

    // The calling thread's hold: token and validity. Throws errc::not_owner when this thread holds nothing.
    // Good until unlock().
    const mortise::hold& hold() const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
