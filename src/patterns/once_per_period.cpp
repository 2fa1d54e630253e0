#include "patterns/limits.hpp"
#include "patterns/requirements.hpp"

#include <mortise/error.hpp>
#include <mortise/patterns/once_per_period.hpp>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

constexpr const char* called_once = "once_per_period";

bool is_taken(const attempt& got) {
    return got.reason() == errc::busy || got.reason() == errc::timed_out;
}

}  // namespace

once_per_period::once_per_period(client& locks, std::string name, nanoseconds period, period_options options)
    : locks_(&locks), name_(std::move(name)), at_most_(options.at_most) {
    patterns::require(locks.promises().detached, locks, called_once, name_, "detached claims");
    const nanoseconds slack = options.slack.value_or(period / 10);
    if (period <= period.zero() || slack < slack.zero() || slack >= period)
        patterns::refuse_option(called_once, name_, "the period must be positive, and the slack shorter than it");
    at_least_ = period - slack;
    static_assert(shortest == patterns::shortest_lease && longest == patterns::longest_lease);
    if (at_least_ > longest)
        patterns::refuse_option(called_once, name_,
                                "a claim lasts at most 24 h, so the period less the slack must not be longer; for "
                                "weekly jobs let the daily one look at the date");
    patterns::require_name(locks, called_once, name_, mark_of(name_));
    patterns::require_lease(locks, at_least_, "the period less the slack", called_once, name_);
    if (at_most_) patterns::require_lease(locks, *at_most_, "at_most", called_once, name_);
}

// Two claims. One marks the period: nobody keeps it, and it ends by itself. The other is held while the job runs, which may
// take longer than that. The mark comes first, so that nobody runs a job whose period another has.
bool once_per_period::try_run(unique_function<void()> job) {
    if (!job) patterns::refuse_option(called_once, name_, "it needs a job");
    attempt mark =
        locks_->try_acquire(mark_of(name_), {.lease = at_least_, .renew = renew::off, .kept_by = kept_by::lease});
    if (is_taken(mark)) return false;
    static_cast<void>(mark.value());  // or throws why not
    claim_options while_it_runs{};
    if (at_most_) while_it_runs = {.lease = at_most_, .renew = renew::off};
    attempt running = locks_->try_acquire(name_, while_it_runs);
    if (is_taken(running)) return false;  // the last one has not ended yet
    const hold mine = std::move(running).value();
    job();
    return true;
}

std::string once_per_period::mark_of(const std::string& name) {
    return name + "/period";
}

}  // namespace mortise::inline v0
