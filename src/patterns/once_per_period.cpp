#include "patterns/requirements.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/once_per_period.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds longest_lease = std::chrono::hours{24};

// Keeps a claim alive while a job runs, in steps of a third of its time.
class renewal {
public:
    renewal(client& locks, const hold& mine, nanoseconds lease, std::optional<nanoseconds> at_most)
        : thread_([&locks, name = mine.name(), id = mine.id(), lease, at_most](const std::stop_token& stop) {
              std::mutex alone;
              std::condition_variable_any sleeping;
              std::unique_lock waiting{alone};
              const auto begun = boot_clock::now();
              while (!sleeping.wait_for(waiting, stop, lease / 3, [] { return false; })) {
                  if (stop.stop_requested()) return;
                  if (at_most && boot_clock::now() - begun + lease > *at_most) return;
                  std::error_code ignored;  // the next time may do; and at_least has been promised, no more
                  locks.renew(name, id, lease, ignored);
              }
          }) {}

private:
    std::jthread thread_;
};

}  // namespace

once_per_period::once_per_period(client& locks, std::string name, nanoseconds period, period_options options)
    : locks_(&locks), name_(std::move(name)), at_most_(options.at_most) {
    patterns::require(locks.promises().detached, locks, "once_per_period", name_, "detached claims");
    const nanoseconds slack = options.slack.value_or(period / 10);
    if (period <= period.zero() || slack < slack.zero() || slack >= period)
        throw error(errc::invalid_option,
                    "once_per_period '" + name_ + "': the period must be positive, and the slack shorter than it");
    at_least_ = period - slack;
    if (at_least_ > longest_lease)
        throw error(errc::invalid_option, "once_per_period '" + name_ +
                                              "': a claim lasts at most 24 h, so the period less the slack must not be "
                                              "longer; for weekly jobs let the daily one look at the date");
    if (at_most_ && *at_most_ < at_least_)
        throw error(errc::invalid_option, "once_per_period '" + name_ + "': at_most is shorter than the period");
}

bool once_per_period::try_run(unique_function<void()> job) {
    const auto begun = boot_clock::now();
    attempt got = locks_->try_acquire(name_, {.lease = at_least_, .renew = renew::off, .kept_by = kept_by::lease});
    if (!got && (got.reason() == errc::busy || got.reason() == errc::timed_out)) return false;
    const hold& mine = got.value();  // or throws why not
    const auto leave = [&] {
        if (boot_clock::now() - begun < at_least_) return;  // it ends by itself
        std::error_code ignored;
        locks_->release(name_, mine.id(), ignored);
    };
    struct at_end {
        decltype(leave)& run;
        ~at_end() { run(); }
    } const ending{leave};
    const renewal keeping{*locks_, mine, at_least_, at_most_};
    job();
    return true;
}

}  // namespace mortise::inline v0
