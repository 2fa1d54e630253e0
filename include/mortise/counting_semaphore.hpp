// A distributed std::counting_semaphore.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/duration.hpp>
#include <mortise/hold.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0 {

// A semaphore: at most n permits in use across all threads, processes and machines that use the same store.
//
//     mortise::counting_semaphore pool{locks, "pool", 5};
//     mortise::hold one = pool.acquire();      // released at the end of the scope
//     mortise::hold three = pool.acquire(3);   // waits until all three are free
//
// An acquisition is a hold: it has its own lease and fencing token, can be moved between threads, and can be lost like
// any other hold. The token distinguishes it from other holders. Holders of permits do not exclude each other, so
// permits cannot protect a fenced resource (fenced.hpp).
//
// Differences from std::counting_semaphore:
//  - A permit belongs to the hold that acquired it; nobody else can release it. A semaphore therefore cannot start
//    empty and be filled by others: it limits users and does not signal.
//  - Permits are returned when the hold is released, destroyed or lost. Permits of a process that died are returned
//    automatically: at once if the store detects the death, otherwise when the lease expires.
//  - The number of permits is a constructor argument, not a template argument. All users of a name must agree on it
//    while it is in use; others are refused with errc::kind_mismatch. (A semaphore with one permit and a mutex are
//    compatible: both are 1 of 1.)
//  - Strictly first come, first served, also among threads of one process. A large request at the head of the queue is
//    never overtaken by smaller ones, so it cannot starve; permits may be unused meanwhile. On a store that does not
//    promise order::fifo the constructor throws errc::unsupported.
//
// As with std::counting_semaphore, two callers that each hold permits and wait for more can deadlock. Acquire what you
// need in one call, or with a timeout.
//
// The options apply to every acquisition; `options.stop` ends all waits. `options.wait` is ignored: the function called
// determines the wait. All members are thread-safe.
class MORTISE_API counting_semaphore {
public:
    // Throws invalid_name, invalid_option (permits below 1 or above 2^31), unsupported (more than
    // promises().most_capacity, no fifo), ...
    counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t permits, claim_options options = {});
    ~counting_semaphore();  // permits stay acquired: they belong to their holds
    counting_semaphore(const counting_semaphore&) = delete;
    counting_semaphore& operator=(const counting_semaphore&) = delete;

    // Waits until `count` permits are free. Throws mortise::error if refused; the forms with `ec` set it and return an
    // empty hold. A count below 1 or above permits() fails at once with invalid_option.
    [[nodiscard]] hold acquire(std::ptrdiff_t count = 1);
    [[nodiscard]] hold acquire(std::error_code& ec);
    [[nodiscard]] hold acquire(std::ptrdiff_t count, std::error_code& ec);

    // Returns a hold or a refusal, without waiting. Only an invalid count throws. The refusal names one of the holders.
    [[nodiscard]] attempt try_acquire(std::ptrdiff_t count = 1);

    // The same, but wait: for at most any std::chrono::duration, or until any std::chrono::time_point.
    [[nodiscard]] attempt try_acquire_for(detail::any_duration wait);
    [[nodiscard]] attempt try_acquire_for(std::ptrdiff_t count, detail::any_duration wait);
    [[nodiscard]] attempt try_acquire_until(detail::any_time_point deadline);
    [[nodiscard]] attempt try_acquire_until(std::ptrdiff_t count, detail::any_time_point deadline);

    // Never blocks. Calls `done` exactly once with the result, as client::start does. Without how.wait the wait is
    // unlimited. The semaphore may be destroyed meanwhile. Throws invalid_option for an invalid count or an empty
    // `done`.
    void start(std::ptrdiff_t count, const wait_options& how, client::completion done);

    // The total number of permits. The number of free permits is not available: it would be out of date on arrival.
    std::ptrdiff_t permits() const noexcept;
    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
