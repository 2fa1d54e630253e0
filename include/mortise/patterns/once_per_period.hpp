// At most once per period across the fleet.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace mortise::inline v0 {

struct period_options {
    // How much earlier than a period after the last run the next one may begin, for clocks that differ and timers that
    // are late. Unset: a tenth of the period. The clocks of the fleet must differ by less than this, and by less than the
    // rest of the period.
    std::optional<std::chrono::nanoseconds> slack{};

    // A run that takes longer no longer keeps others out. Unset: it does for as long as it runs.
    std::optional<std::chrono::nanoseconds> at_most{};
};

// For a job that every node's timer starts and one of them should do. The first to come claims the period, and the claim
// stays until the period is nearly over, however short the job is and whatever becomes of the process. A job that takes
// longer than its period keeps the next one out until it ends. The machines' clocks only decide when they ask; how long
// the claim lasts is measured by the store.
//
//     mortise::once_per_period nightly{locks, "report", 24h};
//     nightly.try_run([] { make_report(); });       // on every node, from its own timer
//
// Needs a store with detached claims; the constructor throws errc::unsupported otherwise. A job that dies is not done
// again in its period: at most once, not exactly once.
//
// When not to use it: docs/once_per_period.md.
class MORTISE_API once_per_period {
public:
    // What the period less the slack may be.
    static constexpr std::chrono::nanoseconds shortest = std::chrono::milliseconds{100};
    static constexpr std::chrono::nanoseconds longest = std::chrono::hours{24};

    once_per_period(client& locks, std::string name, std::chrono::nanoseconds period, period_options options = {});

    // Runs `job` if nobody has in this period, and the last run has ended. Returns whether it ran. Throws what `job`
    // throws, and mortise::error if the store does not answer; then it did not run, and may not in this period.
    bool try_run(unique_function<void()> job);

    // How long a run keeps the others out, at least.
    std::chrono::nanoseconds at_least() const noexcept { return at_least_; }

    // The name of the claim that marks the period of a job; the job itself holds its own name while it runs.
    static std::string mark_of(const std::string& name);

private:
    client* locks_;
    std::string name_;
    std::chrono::nanoseconds at_least_;
    std::optional<std::chrono::nanoseconds> at_most_;
};

}  // namespace mortise::inline v0
