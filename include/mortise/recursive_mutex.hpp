// std::recursive_mutex, but for a fleet.
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

// As mutex (see mutex.hpp for what is and is not as in the standard library), but its owner may lock it again:
// counted, and freed when the count is back at zero.
//
//  - The owner is the calling thread, or an explicit mortise::owner for work that hops between threads.
//  - The count belongs to the name, not to this object: two recursive_mutex objects with one name on one client nest.
//  - Re-entry asks no permission and waits for nothing; it and each partial unlock ask for a renewal, without awaiting
//    it. The token stays the same, so an outer frame is never fenced off by its own inner frame.
//  - Re-entry after the lease ran out is refused with errc::lost (try_lock throws it too), not counted: the lock below
//    is no longer there. Unlock what was locked, then lock anew.
class MORTISE_API recursive_mutex {
public:
    recursive_mutex(client& locks, std::string_view name, claim_options options = {});
    ~recursive_mutex();  // releases what was first locked through this object and still is
    recursive_mutex(const recursive_mutex&) = delete;
    recursive_mutex& operator=(const recursive_mutex&) = delete;

    void lock();
    void lock(std::error_code& ec);
    void lock(const owner& who);
    void lock(const owner& who, std::error_code& ec);

    bool try_lock();
    bool try_lock(std::error_code& ec);
    bool try_lock(const owner& who);
    bool try_lock(const owner& who, std::error_code& ec);

    bool try_lock_for(detail::any_duration wait);
    bool try_lock_for(const owner& who, detail::any_duration wait);
    bool try_lock_until(detail::any_time_point deadline);
    bool try_lock_until(const owner& who, detail::any_time_point deadline);

    // lost: the lease had ended; not_owner: this owner holds nothing here; unreachable: the store did not answer.
    void unlock() noexcept;
    void unlock(std::error_code& ec) noexcept;
    void unlock(const owner& who) noexcept;
    void unlock(const owner& who, std::error_code& ec) noexcept;

    // The owner's hold: token and validity, until the last unlock. Throws errc::not_owner when it holds nothing.
    const mortise::hold& hold() const;
    const mortise::hold& hold(const owner& who) const;

    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
