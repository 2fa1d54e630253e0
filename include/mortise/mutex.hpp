// A distributed std::mutex.
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

// A lock with one holder at a time across all threads, processes and machines that use the same store. The name
// identifies the lock.
//
//     mortise::client locks{"memory:"};
//     mortise::mutex tickets{locks, "ticket"};
//     std::scoped_lock guard{tickets};
//
// Like std::timed_mutex it is Lockable and TimedLockable, so std::scoped_lock, std::unique_lock and std::lock work.
// Threads may share one object or have one each; only the name matters. The thread that locks must unlock. (std::lock
// acquires several mutexes by trying and backing off, which under contention can take seconds with fair locks. To lock
// several names often, use multi_lock, which acquires them in a fixed order.)
//
// Differences from std::timed_mutex:
//  - A hold can be **lost**: the lease expires when the process is paused, or cannot reach the store, for longer than
//    the lease. hold().valid() tells, hold().lost() is a stop_token, and the client's observer is notified. A paused
//    process cannot notice in time that it lost the lock, so send hold().token() with what you write.
//  - lock() can **fail**. It throws mortise::error: store unreachable, client closed, process forked.
//  - Locking a name that this thread already holds through any mutex of the same client fails with would_deadlock
//    (try_lock returns false) instead of hanging. To nest, use recursive_mutex.
//  - Deadlocks between threads of one process are detected: if threads lock() in a cycle, each holding what the next
//    one waits for, one of them fails with would_deadlock after a moment, and the message names the holders and
//    waiters. Only waits without a limit and without options.stop are checked; docs/concepts.md lists the cycles that
//    are not detected.
//  - try_lock() may fail spuriously, as std::mutex's may: a wait that timed out or was cancelled returns at once, and
//    its place in the store's queue is gone one round trip later.
//  - unlock() never throws. The result of the release goes to the observer, and to callers of the form with error_code.
//    An unlock by a thread that does not hold the lock releases nothing (errc::not_owner).
//
// The options apply to every lock() of this object. `options.wait` is ignored: the function called determines the wait.
class MORTISE_API mutex {
public:
    mutex(client& locks, std::string_view name,
          claim_options options = {});  // throws invalid_name, invalid_option, ...
    ~mutex();                           // releases every hold that was locked through this object
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    // Waits until the lock is acquired. Throws, or sets `ec`, on failure.
    void lock();
    void lock(std::error_code& ec);

    // Returns false if the lock is busy, or if this thread already holds it. Throws, or sets `ec`, on any other
    // failure, as when the store does not answer.
    bool try_lock();
    bool try_lock(std::error_code& ec);

    // The same, but wait: for at most any std::chrono::duration, or until any std::chrono::time_point.
    bool try_lock_for(detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);

    // Releases the lock. `ec`: lost (the lease had expired), not_owner, unreachable.
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;

    // The calling thread's hold, with its token and validity. Throws errc::not_owner if this thread does not hold the
    // lock. The reference is valid until unlock().
    const mortise::hold& hold() const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
