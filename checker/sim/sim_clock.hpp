// A clock that stands still until a test moves it.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/spi/clock.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace mortise::testing {

// Timers run only inside advance(), advance_to() and run_due(), on the thread that calls them, with no lock held:
// one at a time, in time order (ties in the order of at()), each with now() at its own time. Timers added meanwhile
// take part. One thread moves the clock; at(), cancel() and now() are for any thread.
//
//     advance(10s)   ten ordinary seconds
//     jump(10s)      ten seconds in which nothing of ours ran: a stopped process, a suspended machine. What came due
//                    meanwhile runs late, in run_due() or the next advance().
class sim_clock final : public spi::clock {
public:
    using duration = boot_clock::duration;

    // Not at zero, so that a time point somebody forgot to set is in the past and not "now".
    static constexpr time_point default_start{std::chrono::seconds{1000}};

    explicit sim_clock(time_point start = default_start) : now_(start) {}

    time_point now() const noexcept override;
    timer_id at(time_point when, spi::task what) override;
    void cancel(timer_id which) noexcept override;
    void watch(int, std::function<void()>) override {}  // simulated stores have no descriptors
    void unwatch(int) noexcept override {}

    void advance(duration by);
    void advance_to(time_point target);  // a target in the past only runs what is due
    void jump(duration by);
    void run_due();
    void drop();  // forgets all timers

    std::size_t pending() const;
    std::optional<time_point> next() const;  // when the earliest timer is due

private:
    using key = std::pair<time_point, timer_id>;

    bool run_one(time_point limit);

    mutable std::mutex mutex_;
    time_point now_;
    timer_id last_id_ = 0;
    std::map<key, spi::task> timers_;
    std::unordered_map<timer_id, time_point> due_;
};

}  // namespace mortise::testing
