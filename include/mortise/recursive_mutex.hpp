// A distributed std::recursive_mutex.
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>
#include <mortise/owner.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// A mutex that its owner may lock again. The locks are counted, and the lock is released when the count is back at
// zero. See mutex.hpp for what differs from the standard library.
//
//  - The owner is the calling thread, or an explicit mortise::owner for work that moves between threads.
//  - The count belongs to the name, not to the object: two recursive_mutex objects with one name on one client nest.
//  - Re-entry never waits. It and each partial unlock request a renewal of the lease, without waiting for it. The token
//    stays the same, so an inner frame never fences off an outer one.
//  - Re-entry after the lease has expired fails with errc::lost (try_lock throws it too) and is not counted, because
//    the lock is no longer held. Unlock as often as you locked, then lock again.
class MORTISE_API recursive_mutex {
public:
    recursive_mutex(client& locks, std::string_view name, claim_options options = {});
    ~recursive_mutex();  // releases every hold that was first locked through this object
    recursive_mutex(const recursive_mutex&) = delete;
    recursive_mutex& operator=(const recursive_mutex&) = delete;

    // Locks, or locks again. Throws, or sets `ec`, on failure.
    void lock();
    void lock(std::error_code& ec);
    void lock(const owner& who);
    void lock(const owner& who, std::error_code& ec);

    // Returns false if another owner holds the lock. Throws, or sets `ec`, on any other failure.
    bool try_lock();
    bool try_lock(std::error_code& ec);
    bool try_lock(const owner& who);
    bool try_lock(const owner& who, std::error_code& ec);

    // The same, but wait: for at most any std::chrono::duration, or until any std::chrono::time_point.
    bool try_lock_for(detail::any_duration wait);
    bool try_lock_for(const owner& who, detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);
    bool try_lock_until(const owner& who, detail::any_time_point deadline);

    // Undoes one lock(); the last one releases. `ec`: lost (the lease had expired), not_owner (this owner does not hold
    // the lock), unreachable (the store did not answer).
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;
    void unlock(const owner& who) noexcept;
    void unlock(const owner& who, std::error_code& ec) noexcept;

    // The owner's hold, with its token and validity. Throws errc::not_owner if it does not hold the lock. The reference
    // is valid until the last unlock.
    const mortise::hold& hold() const;
    const mortise::hold& hold(const owner& who) const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
