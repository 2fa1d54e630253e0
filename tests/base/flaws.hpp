// Ways to be wrong about a name, to show that histories would notice.
#pragma once

#include <array>
#include <string_view>

namespace mortise::testing {

enum class flaw {
    none,
    small_ones_overtake,           // no head-of-line blocking
    last_come_first_served,        // a stack for a queue
    forgets_duplicates,            // a repeated claim of a holder is treated as a new one
    forgets_releases,              // a claim that arrives after its own release is granted
    anybody_may_release,           // whoever holds is released, whatever the id
    duplicates_shorten,            // a late renewal sets the end back
    renewal_resurrects,            // renewing what has expired makes it a holder again
    never_expires,                 // leases do not end
    trusts_the_wall_clock,         // the counter is the wall clock alone
    dropping_takes_detached,       // a session takes its detached holds along
    breaking_keeps_the_counter,    // break_hold does not raise the next counter
    capacities_may_differ,         // no kind_mismatch
    leaving_wakes_nobody,          // a big claim that leaves the head lets nobody in
    remembers_for_ever,            // ended ids are never forgotten
    remembers_too_many,            // more ended ids than it promises
    upgrades_queue_up,             // a claim instead of a hold goes to the end of the queue
    upgrades_keep_the_old,         // the hold that is replaced goes on
    upgrades_wait_for_each_other,  // the second is not refused
    upgrades_outlive_their_hold,   // a waiting one is granted though its hold has ended
    upgrades_ignore_readers,       // granted whoever else is inside
    upgrades_end_with_their_wait,  // one that stops waiting takes the hold along
    upgrades_never_stop_waiting,   // though asked to
    downgrades_let_nobody_in,      // until something else happens
    readers_pass_a_writer,         // the smallest claims do not mind the queue
    dead_readers_stay,             // a session that goes leaves behind what does not exclude
    dead_waiters_stay,             // a session that goes still waits
    permits_count_twice,           // a claim for several takes twice as many
};

// What users must do to notice.
enum class needs { nothing, sharing, exchanges, odd_requests, a_small_memory };

struct flaw_traits {
    flaw which;
    std::string_view name;
    needs to_notice;
};

inline constexpr std::array every_flaw{
    flaw_traits{flaw::small_ones_overtake, "small_ones_overtake", needs::sharing},
    flaw_traits{flaw::last_come_first_served, "last_come_first_served", needs::nothing},
    flaw_traits{flaw::forgets_duplicates, "forgets_duplicates", needs::nothing},
    flaw_traits{flaw::forgets_releases, "forgets_releases", needs::odd_requests},
    flaw_traits{flaw::anybody_may_release, "anybody_may_release", needs::nothing},
    flaw_traits{flaw::duplicates_shorten, "duplicates_shorten", needs::nothing},
    flaw_traits{flaw::renewal_resurrects, "renewal_resurrects", needs::nothing},
    flaw_traits{flaw::never_expires, "never_expires", needs::nothing},
    flaw_traits{flaw::trusts_the_wall_clock, "trusts_the_wall_clock", needs::nothing},
    flaw_traits{flaw::dropping_takes_detached, "dropping_takes_detached", needs::odd_requests},
    flaw_traits{flaw::breaking_keeps_the_counter, "breaking_keeps_the_counter", needs::nothing},
    flaw_traits{flaw::capacities_may_differ, "capacities_may_differ", needs::odd_requests},
    flaw_traits{flaw::leaving_wakes_nobody, "leaving_wakes_nobody", needs::nothing},
    flaw_traits{flaw::remembers_for_ever, "remembers_for_ever", needs::odd_requests},
    flaw_traits{flaw::remembers_too_many, "remembers_too_many", needs::a_small_memory},
    flaw_traits{flaw::upgrades_queue_up, "upgrades_queue_up", needs::exchanges},
    flaw_traits{flaw::upgrades_keep_the_old, "upgrades_keep_the_old", needs::exchanges},
    flaw_traits{flaw::upgrades_wait_for_each_other, "upgrades_wait_for_each_other", needs::exchanges},
    flaw_traits{flaw::upgrades_outlive_their_hold, "upgrades_outlive_their_hold", needs::exchanges},
    flaw_traits{flaw::upgrades_ignore_readers, "upgrades_ignore_readers", needs::exchanges},
    flaw_traits{flaw::upgrades_end_with_their_wait, "upgrades_end_with_their_wait", needs::exchanges},
    flaw_traits{flaw::upgrades_never_stop_waiting, "upgrades_never_stop_waiting", needs::exchanges},
    flaw_traits{flaw::downgrades_let_nobody_in, "downgrades_let_nobody_in", needs::exchanges},
    flaw_traits{flaw::readers_pass_a_writer, "readers_pass_a_writer", needs::sharing},
    flaw_traits{flaw::dead_readers_stay, "dead_readers_stay", needs::sharing},
    flaw_traits{flaw::dead_waiters_stay, "dead_waiters_stay", needs::nothing},
    flaw_traits{flaw::permits_count_twice, "permits_count_twice", needs::sharing},
};

}  // namespace mortise::testing
