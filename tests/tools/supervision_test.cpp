#include "tools/mortise/supervision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace command {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using time_point = supervision::time_point;
using reach = supervision::reach;
using trouble = supervision::trouble;

constexpr time_point start{1000s};
constexpr time_point never = time_point::max();

class supervised : public ::testing::Test {
protected:
    supervision running(time_point until = never) {
        supervision made;
        EXPECT_TRUE(made.granted(start, until).start);
        return made;
    }
};

TEST_F(supervised, a_command_that_ends_gives_the_lock_back_and_its_code) {
    supervision s = running();
    EXPECT_FALSE(s.ended(7, start).finish) << "what it started may live";
    const auto last = s.all_gone();
    EXPECT_TRUE(last.release);
    EXPECT_EQ(last.finish, 7);
    EXPECT_FALSE(s.all_gone().release) << "once";
}

TEST_F(supervised, all_gone_means_nothing_while_the_command_is_not_waited_for) {
    supervision s = running();
    EXPECT_FALSE(s.all_gone().release);
}

TEST_F(supervised, a_refusal_ends_it) {
    supervision s;
    const auto last = s.refused(1);
    EXPECT_EQ(last.finish, 1);
    EXPECT_FALSE(last.release);
}

TEST_F(supervised, signals_reach_the_group_and_then_what_the_command_left_behind) {
    supervision s = running();
    for (const int signal : {SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP}) {
        EXPECT_THAT(s.signalled(signal).send, ElementsAre(signal));
        EXPECT_EQ(s.signalled(signal).to, reach::group);
    }
    EXPECT_THAT(s.ended(0, start).send, IsEmpty());
    EXPECT_THAT(s.signalled(SIGUSR1).send, ElementsAre(SIGUSR1));
    EXPECT_EQ(s.signalled(SIGUSR1).to, reach::all);
    EXPECT_EQ(s.signalled(SIGTERM).to, reach::all);
}

TEST_F(supervised, a_signal_that_ends_the_command_is_heard_by_a_stopped_one) {
    supervision s = running();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        const auto last = s.signalled(signal);
        EXPECT_THAT(last.send, ElementsAre(signal, SIGCONT));
        EXPECT_EQ(last.to, reach::group);
    }
}

TEST_F(supervised, what_outlives_a_command_that_was_told_to_end_is_told_too) {
    supervision s = running();
    s.signalled(SIGTERM);
    const auto then = s.ended(143, start);
    EXPECT_THAT(then.send, ElementsAre(SIGTERM, SIGCONT));
    EXPECT_EQ(then.to, reach::others) << "its group has heard it";
    supervision reloads = running();
    reloads.signalled(SIGHUP);
    EXPECT_THAT(reloads.ended(0, start).send, IsEmpty());
}

TEST_F(supervised, people_are_told_once_what_keeps_the_lock) {
    supervision s = running();
    EXPECT_EQ(s.next_look(never), never);
    s.ended(0, start);
    const auto when = s.next_look(never);
    EXPECT_GT(when, start);
    EXPECT_LT(when, start + 60s);
    EXPECT_FALSE(s.tick(when - 1ns, never).remind);
    EXPECT_TRUE(s.tick(when, never).remind);
    EXPECT_FALSE(s.tick(when, never).remind);
    EXPECT_EQ(s.next_look(never), never);
}

TEST_F(supervised, the_lock_may_end_with_the_command_alone) {
    supervision s{supervision::kept_by::command};
    s.granted(start, never);
    const auto last = s.ended(3, start);
    EXPECT_TRUE(last.release);
    EXPECT_EQ(last.finish, 3);
    supervision loses{supervision::kept_by::command}, dies{supervision::kept_by::command};
    for (supervision* each : {&loses, &dies}) each->granted(start, never);
    loses.lost(start);
    dies.wrapper_gone();
    for (supervision* each : {&loses, &dies}) {
        EXPECT_FALSE(each->ended(143, start).release) << "then nothing of it may go on";
        EXPECT_TRUE(each->all_gone().release);
    }
}

TEST_F(supervised, a_signal_ends_a_wait_when_the_claim_is_withdrawn) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        supervision s;
        const auto first = s.signalled(signal);
        EXPECT_TRUE(first.withdraw);
        EXPECT_FALSE(first.finish);
        EXPECT_FALSE(s.signalled(signal).withdraw) << "once";
        EXPECT_EQ(s.refused(1).finish, 128 + signal);
    }
    supervision s;
    EXPECT_FALSE(s.signalled(SIGUSR1).withdraw);
    EXPECT_FALSE(s.signalled(SIGWINCH).withdraw);
}

TEST_F(supervised, a_grant_that_comes_after_all_is_given_back_unused) {
    supervision s;
    s.signalled(SIGINT);
    const auto last = s.granted(start, never);
    EXPECT_FALSE(last.start);
    EXPECT_TRUE(last.release);
    EXPECT_EQ(last.finish, 130);
}

TEST_F(supervised, what_the_command_started_ends_with_the_wrapper_and_only_then_the_lock_goes) {
    supervision s = running();
    const auto first = s.wrapper_gone();
    EXPECT_THAT(first.send, ElementsAre(SIGKILL));
    EXPECT_EQ(first.to, reach::all);
    EXPECT_TRUE(s.killing()) << "until nothing is left";
    EXPECT_FALSE(first.release);
    EXPECT_FALSE(s.ended(137, start).release);
    EXPECT_TRUE(s.all_gone().release);
}

TEST_F(supervised, a_dead_wrapper_ends_a_wait) {
    supervision s;
    EXPECT_TRUE(s.wrapper_gone().withdraw);
    EXPECT_FALSE(s.granted(start, never).start);
}

TEST_F(supervised, a_stopped_job_passes_its_turn_on_and_claims_again_when_it_goes_on) {
    supervision s;
    s.paused();
    const auto turn = s.granted(start, never);
    EXPECT_FALSE(turn.start);
    EXPECT_TRUE(turn.release);
    EXPECT_FALSE(turn.finish);
    EXPECT_TRUE(s.resumed().claim);
    EXPECT_FALSE(s.resumed().claim) << "once";
    EXPECT_TRUE(s.granted(start, never).start);
    supervision before;
    before.paused();
    EXPECT_FALSE(before.resumed().claim) << "it still waits";
    EXPECT_TRUE(before.granted(start, never).start);
}

TEST_F(supervised, a_stopped_job_may_die_be_told_to_go_or_be_refused) {
    supervision dies, goes, waits;
    for (supervision* s : {&dies, &goes, &waits}) {
        s->paused();
        s->granted(start, start + 3s);
        EXPECT_EQ(s->next_look(time_point::min()), never) << "there is no lease to watch";
        EXPECT_EQ(s->lost(start).tell, trouble::none);
    }
    EXPECT_TRUE(dies.wrapper_gone().finish);
    EXPECT_EQ(goes.signalled(SIGTERM).finish, 143);
    EXPECT_TRUE(waits.resumed().claim);
    EXPECT_EQ(waits.refused(1).finish, 1);
}

TEST_F(supervised, the_command_is_told_and_killed_before_the_lease_ends) {
    const auto until = start + 3s;
    supervision s = running(until);
    const auto told_at = s.next_look(until);
    EXPECT_GT(told_at, start + 2s);
    EXPECT_LT(told_at, until);
    EXPECT_THAT(s.tick(told_at - 1ns, until).send, IsEmpty());

    const auto first = s.tick(told_at, until);
    EXPECT_THAT(first.send, ElementsAre(SIGTERM, SIGCONT)) << "a stopped command hears TERM only when it goes on";
    EXPECT_EQ(first.to, reach::all);
    EXPECT_EQ(first.tell, trouble::lease_ends);
    const auto killed_at = s.next_look(until);
    EXPECT_GT(killed_at, told_at);
    EXPECT_LT(killed_at, until);
    EXPECT_THAT(s.tick(killed_at - 1ns, until).send, IsEmpty()) << "told once";

    EXPECT_THAT(s.tick(killed_at, until).send, ElementsAre(SIGKILL));
    EXPECT_EQ(s.next_look(until), never);
    EXPECT_THAT(s.tick(until, until).send, IsEmpty()) << "killed once";
    s.ended(137, start);
    EXPECT_EQ(s.all_gone().finish, 75);
}

TEST_F(supervised, a_lease_that_is_renewed_disturbs_nobody) {
    supervision s = running(start + 3s);
    EXPECT_THAT(s.tick(s.next_look(start + 3s), start + 5s).send, IsEmpty());
    EXPECT_GT(s.next_look(start + 5s), start + 4s);
}

// Otherwise a command that ignores TERM would go on as long as it likes.
TEST_F(supervised, a_renewal_after_it_was_told_does_not_save_it) {
    supervision s = running(start + 3s);
    s.tick(s.next_look(start + 3s), start + 3s);
    const auto killed_at = s.next_look(start + 9s);
    EXPECT_LT(killed_at, start + 3s);
    EXPECT_THAT(s.tick(killed_at, start + 9s).send, ElementsAre(SIGKILL));
    s.ended(0, start);
    EXPECT_EQ(s.all_gone().finish, 75) << "it was cut short";
}

TEST_F(supervised, a_lost_lock_stops_the_command) {
    supervision s = running(start + 60s);
    const auto first = s.lost(start + 1s);
    EXPECT_THAT(first.send, ElementsAre(SIGTERM, SIGCONT));
    EXPECT_EQ(first.tell, trouble::lost);
    EXPECT_THAT(s.lost(start + 1s).send, IsEmpty());
    const auto killed_at = s.next_look(time_point::min());
    EXPECT_LE(killed_at, start + 2s);
    EXPECT_THAT(s.tick(killed_at, time_point::min()).send, ElementsAre(SIGKILL));
    s.ended(143, start);
    EXPECT_EQ(s.all_gone().finish, 75);
}

// The machine was asleep: the clock is the first to know.
TEST_F(supervised, a_deadline_slept_through_counts_as_a_loss) {
    supervision s = running(start + 3s);
    EXPECT_EQ(s.tick(start + 60s, start + 3s).tell, trouble::lost);
    supervision told = running(start + 3s);
    told.tick(told.next_look(start + 3s), start + 3s);
    EXPECT_THAT(told.tick(start + 60s, start + 3s).send, ElementsAre(SIGKILL));
}

TEST_F(supervised, without_a_lease_there_is_nothing_to_watch_for) {
    supervision s = running();
    EXPECT_EQ(s.next_look(never), never);
    EXPECT_THAT(s.tick(start + 9999h, never).send, IsEmpty());
}

TEST_F(supervised, short_and_long_leases_leave_time_to_stop) {
    for (const auto lease : {100ms, 1000ms, 3000ms, 30000ms, 86400000ms}) {
        EXPECT_GT(supervision::grace(lease), supervision::margin(lease));
        EXPECT_LT(supervision::grace(lease), lease * 2 / 3) << "a renewal is due after a third";
        EXPECT_GT(supervision::margin(lease), 0ms);
    }
}

TEST_F(supervised, what_cannot_be_started_gives_the_lock_back) {
    supervision s = running();
    const auto last = s.not_started(69);
    EXPECT_TRUE(last.release);
    EXPECT_EQ(last.finish, 69);
}

}  // namespace
}  // namespace command
