// std::counting_semaphore, but for a fleet.
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

// At most n at a time, across every thread, process and machine that uses the same store.
//
//     mortise::counting_semaphore pool{locks, "pool", 5};
//     mortise::hold one = pool.acquire();      // given back at the end of the scope
//     mortise::hold three = pool.acquire(3);   // all three at once, or wait for them
//
// An acquisition is a hold: with a lease and a fencing token of its own, movable between threads, lost like any other
// hold. Its token tells it from every other holder's; holders of one name do not exclude each other, so a resource
// that seals (fenced.hpp) is not what permits are for.
//
// What is different from std::counting_semaphore:
//  - Permits belong to whoever acquired them. There is no release() by a stranger, so no semaphore that starts empty and
//    is filled by others: it counts users, it does not signal.
//  - They are given back when the hold is released, destroyed or lost. Those of a process that died come back by
//    themselves: at once where the store notices a death, else when the lease is over.
//  - The number of permits is an argument, not a template's. All users of a name must agree on it while it is in use, else
//    they are refused with errc::kind_mismatch. (A semaphore of one permit and a mutex do agree: both mean 1 of 1.)
//  - Strictly first come, first served, also among threads of one process. A big request at the head of the queue is not
//    overtaken by smaller ones behind it, so it cannot starve; permits may lie idle meanwhile. A store that does not
//    promise order::fifo is refused with errc::unsupported.
//
// Two callers that each hold some permits and wait for more may wait for each other for ever, as with std's. Acquire what
// is needed in one call, or with a limit.
//
// Options are taken at construction and hold for every acquisition; `options.stop` ends all waits. `options.wait` does not
// apply: the verbs say how long to wait. All members may be called by many threads at once.
class MORTISE_API counting_semaphore {
public:
    // Throws invalid_name, invalid_option (permits below 1 or above 2^31), unsupported (more than
    // promises().most_capacity, no fifo), ...
    counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t permits, claim_options options = {});
    ~counting_semaphore();  // acquired permits stay acquired: they are holds
    counting_semaphore(const counting_semaphore&) = delete;
    counting_semaphore& operator=(const counting_semaphore&) = delete;

    // Waits until `count` permits are free. Throws mortise::error for every refusal; the forms with `ec` set it and answer
    // an empty hold. A count below 1 or above permits() is refused with invalid_option, at once.
    [[nodiscard]] hold acquire(std::ptrdiff_t count = 1);
    [[nodiscard]] hold acquire(std::error_code& ec);
    [[nodiscard]] hold acquire(std::ptrdiff_t count, std::error_code& ec);

    // A hold or a refusal: busy, timed out, unreachable and the like do not throw, an invalid count does. The refusal
    // names one of the holders.
    [[nodiscard]] attempt try_acquire(std::ptrdiff_t count = 1);

    [[nodiscard]] attempt try_acquire_for(detail::any_duration wait);
    [[nodiscard]] attempt try_acquire_for(std::ptrdiff_t count, detail::any_duration wait);
    [[nodiscard]] attempt try_acquire_until(detail::any_time_point deadline);
    [[nodiscard]] attempt try_acquire_until(std::ptrdiff_t count, detail::any_time_point deadline);

    // Never blocks: calls `done` exactly once with the answer, as client::start does. Without how.wait it waits for ever. The
    // semaphore may be destroyed meanwhile. Throws invalid_option for an invalid count or an empty `done`.
    void start(std::ptrdiff_t count, const wait_options& how, client::completion done);

    // How many there are in all. How many are free is not told: it would be out of date before it arrived.
    std::ptrdiff_t permits() const noexcept;
    const std::string& name() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
