#include "checker/verdict/truth.hpp"

#include "checker/verdict/fence.hpp"
#include "checker/verdict/liveness.hpp"
#include "checker/verdict/written_history.hpp"

#include <mortise/token.hpp>

#include <gtest/gtest.h>

namespace {

using namespace mortise::checker;

std::uint64_t granted(std::uint64_t counter, std::uint64_t turn = 0) {
    return mortise::token::of(counter, turn).value();
}

// C3. What a resource did, in its order.
class resource_log {
public:
    resource_log& seal(std::uint64_t token) { return add(act::seal, token, 0, 0); }
    resource_log& read(std::uint64_t token, std::uint64_t value) { return add(act::read, token, value, 0); }
    resource_log& write(std::uint64_t token, std::uint64_t id, std::uint64_t from) {
        return add(act::write, token, id, from);
    }
    const std::vector<record>& all() const { return records_; }

private:
    resource_log& add(act what, std::uint64_t token, std::uint64_t value, std::uint64_t from) {
        records_.push_back({.at = ++now_,
                            .what = what,
                            .is = phase::ok,
                            .token = token,
                            .valid_until = static_cast<std::int64_t>(from),
                            .value = value});
        return *this;
    }
    std::vector<record> records_{};
    std::int64_t now_ = 0;
};

TEST(fenced_register, a_lost_update_is_convicted) {
    resource_log did;
    did.seal(1).read(1, 0).write(1, 11, 0).seal(2).read(2, 11).write(2, 12, 11).write(2, 13, 11);
    EXPECT_EQ(fenced_register(did.all(), {}).count, 1U);
    EXPECT_EQ(count_lost_updates(did.all()).lost, 1U);
    EXPECT_EQ(count_lost_updates(did.all()).writes, 3U);
}

TEST(fenced_register, a_late_write_of_a_former_holder_is_convicted) {
    resource_log did;
    did.seal(1).read(1, 0).seal(2).read(2, 0).write(1, 11, 0);
    EXPECT_FALSE(fenced_register(did.all(), {}).sound());
}

TEST(fenced_register, a_seal_that_falls_is_convicted) {
    resource_log did;
    did.seal(2).seal(1);
    EXPECT_EQ(fenced_register(did.all(), {}).count, 1U);
}

TEST(fenced_register, a_read_of_a_former_holder_is_convicted) {
    resource_log did;
    did.seal(1).seal(2).read(1, 0);
    EXPECT_EQ(fenced_register(did.all(), {}).count, 1U);
}

TEST(fenced_register, a_read_of_something_old_is_convicted) {
    resource_log did;
    did.seal(1).write(1, 11, 0).write(1, 12, 11).read(1, 11);
    EXPECT_EQ(fenced_register(did.all(), {}).count, 1U);
}

TEST(fenced_register, an_acknowledged_write_that_is_missing_is_convicted) {
    resource_log did;
    did.seal(1).write(1, 11, 0);
    written_history said;
    said.write(1, 10, 20, 11);
    said.write(1, 30, 40, 12);
    EXPECT_EQ(fenced_register(did.all(), said.operations()).count, 1U);
}

TEST(fenced_register, a_refused_write_that_was_applied_is_convicted) {
    resource_log did;
    did.seal(1).write(1, 11, 0);
    written_history said;
    said.write(1, 10, 20, 11, phase::fail);
    EXPECT_EQ(fenced_register(did.all(), said.operations()).count, 1U);
}

TEST(fenced_register, a_write_that_was_applied_twice_is_convicted) {
    resource_log did;
    did.seal(1).write(1, 11, 0).write(1, 11, 11);
    EXPECT_EQ(fenced_register(did.all(), {}).count, 1U);
}

TEST(fenced_register, acquits_a_chain_and_what_is_unknown) {
    resource_log did;
    did.seal(1).read(1, 0).write(1, 11, 0).seal(1).read(1, 11).seal(4).read(4, 11).write(4, 12, 11);
    written_history said;
    said.write(1, 10, 20, 11);
    said.write(2, 30, 0, 12);                // no answer: applied
    said.write(2, 30, 0, 13);                // no answer: not applied
    said.write(3, 50, 60, 14, phase::fail);  // refused
    said.write(3, 70, 80, 15, phase::unknown);
    const judgement found = fenced_register(did.all(), said.operations());
    EXPECT_TRUE(found.sound()) << found.violations.front().what;
    EXPECT_EQ(count_lost_updates(did.all()).lost, 0U);
}

// C5.

TEST(liveness, a_waiter_that_is_forgotten_is_convicted) {
    written_history run;
    run.acquire(1, 10, 0, 0);
    run.healed(100);
    run.hold(1, 10'000, 10'001, 10'002, 1, {}, 1);  // the process lives
    EXPECT_EQ(liveness(run.all(), run.operations(), 500).count, 1U);
}

TEST(liveness, a_grant_that_comes_late_is_convicted) {
    written_history run;
    run.healed(100);
    run.hold(1, 110, 2'000, 2'001, 1);
    EXPECT_EQ(liveness(run.all(), run.operations(), 500).count, 1U);
}

TEST(liveness, a_refusal_after_the_heal_is_convicted) {
    written_history run;
    run.healed(100);
    run.acquire(1, 110, 200, 0, phase::fail);
    EXPECT_EQ(liveness(run.all(), run.operations(), 500).count, 1U);
}

TEST(liveness, an_outcome_that_is_unknown_after_the_heal_is_convicted) {
    written_history run;
    run.healed(100);
    run.acquire(1, 110, 200, 0, phase::unknown);
    EXPECT_EQ(liveness(run.all(), run.operations(), 500).count, 1U);
}

TEST(liveness, what_was_left_behind_is_convicted) {
    written_history run;
    run.healed(100);
    run.hold(1, 110, 120, 130, 1);
    run.leftover(900, 2);
    EXPECT_EQ(liveness(run.all(), run.operations(), 500).count, 1U);
}

TEST(liveness, acquits_those_who_are_served_and_the_dead) {
    written_history run;
    run.acquire(1, 10, 0, 0);                    // killed
    run.acquire(2, 20, 90, 0, phase::fail);      // during the faults
    run.acquire(2, 91, 94, 0, phase::unknown);   // so too, and long over
    run.acquire(2, 95, 150, 0, phase::unknown);  // asked during the faults
    run.healed(100);
    run.hold(2, 160, 300, 310, 1);
    run.leftover(900, 0);
    const judgement found = liveness(run.all(), run.operations(), 500);
    EXPECT_TRUE(found.sound()) << found.violations.front().what;
    EXPECT_GE(found.checked, 2U);
}

TEST(liveness, does_not_judge_a_run_that_was_never_healed) {
    written_history run;
    run.hold(1, 110, 120, 130, 1);
    EXPECT_EQ(liveness(run.all(), run.operations(), 10).checked, 0U);
}

// C6.

TEST(no_lies, a_hold_of_which_the_store_does_not_know_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 100, granted(5));
    run.truth(50, 60, {});
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds()).count, 1U);
}

TEST(no_lies, a_hold_that_is_somebody_elses_in_the_store_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 100, granted(5));
    run.acquire(2, 30, 0, 0);
    run.truth(50, 60, {granted(6)});
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds()).count, 1U);
}

TEST(no_lies, a_zombie_in_the_store_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, granted(5));
    run.truth(50, 60, {granted(5)});
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds()).count, 1U);
}

TEST(no_lies, a_holder_whom_nobody_knows_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, granted(5));
    run.truth(50, 60, {granted(9)});
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds()).count, 1U);
}

TEST(no_lies, a_repeat_that_a_forgetful_store_took_for_new_is_excused_for_a_while) {
    written_history run;
    run.hold(1, 10, 20, 30, granted(1));
    run.truth(50, 51, {granted(2)});
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds(), {{25}}, 30).count, 0U);
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds(), {{25}}, 29).count, 1U) << "nobody renews it";
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds(), {{5}}, 30).count, 1U) << "it forgot before that";
}

TEST(no_lies, acquits_what_changed_during_the_look_and_what_is_unknown) {
    written_history run;
    run.hold(1, 10, 20, 55, granted(5, 3));  // with a turn, of which the store does not know
    run.truth(30, 40, {granted(5)});
    run.truth(50, 60, {});     // left meanwhile
    run.acquire(2, 70, 0, 0);  // killed before it heard
    run.truth(80, 90, {granted(6)});
    run.acquire(3, 100, 130, granted(7));
    run.truth(110, 120, {granted(7)});  // granted, and has not heard
    run.acquire(3, 200, 300, granted(9));
    run.truth(210, 220, {granted(8)});  // granted while it was stopped, expired, and asked again
    const judgement found = no_lies(run.all(), run.operations(), run.holds());
    EXPECT_TRUE(found.sound()) << found.violations.front().what;
    EXPECT_EQ(found.checked, 5U);
}

TEST(no_lies, excuses_what_the_store_forgot) {
    written_history run;
    run.hold(1, 10, 20, 100, granted(5));
    run.truth(50, 60, {});
    EXPECT_TRUE(no_lies(run.all(), run.operations(), run.holds(), {{40}}).sound());
}

TEST(no_lies, a_release_that_a_crash_undid_is_excused_until_the_lease_ends) {
    written_history run;
    run.hold(1, 10, 20, 30, granted(1));
    run.truth(50, 51, {granted(1)});
    const excuses crashed{.releases = {40}};
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds(), crashed, 30).count, 0U);
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds(), crashed, 10).count, 1U) << "its lease is over";
    EXPECT_EQ(no_lies(run.all(), run.operations(), run.holds(), {.releases = {29}}, 30).count, 1U) << "before it";
    EXPECT_FALSE(crashed.between(0, 100)) << "it forgot no grant";
}

}  // namespace
