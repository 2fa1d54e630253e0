#include "stores/etcd/watch_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class etcd_watch_table : public ::testing::Test {
protected:
    using number = watch_table::number;
    using begins = watch_table::begins;

    // Does what was answered: tells, and remembers what etcd was asked.
    void act(watch_table::actions what) {
        for (const auto& one : what.begin) begun_.push_back(one);
        for (const number one : what.end) ended_.push_back(one);
        for (auto& each : what.tell) each();
    }
    number wait(std::string key, std::int64_t read_at, begins how = begins::now, spi::duration look = {}) {
        watch_table::actions out;
        const number waiting = all_.wait(
            std::move(key), read_at, how, look, [this, read_at] { told_.push_back(read_at); }, now_, out);
        look_at_ = out.look_at;
        act(std::move(out));
        return waiting;
    }
    number last_begun() const { return begun_.back().which; }

    watch_table all_;
    spi::time_point now_{1000s};
    std::vector<watch_table::actions::watch> begun_;
    std::vector<number> ended_;
    std::vector<std::int64_t> told_;  // the revisions at which they had read
    std::optional<spi::time_point> look_at_;
};

TEST_F(etcd_watch_table, tell_of_a_key_that_goes_after_it_was_read) {
    wait("k", 10);
    EXPECT_EQ(begun_.back().from, 0);
    act(all_.created(last_begun(), 10, now_));
    EXPECT_THAT(told_, IsEmpty());
    act(all_.happened(last_begun(), {12, 12}, now_));
    EXPECT_THAT(told_, ElementsAre(10));
    act(all_.happened(last_begun(), {15, 15}, now_));
    EXPECT_THAT(told_, ElementsAre(10)) << "once";
}

TEST_F(etcd_watch_table, tell_what_may_have_been_missed_before_the_watch_began) {
    wait("k", 10);
    wait("k", 11);
    act(all_.created(last_begun(), 11, now_));
    EXPECT_THAT(told_, ElementsAre(10));
}

TEST_F(etcd_watch_table, begin_in_the_past_if_they_are_asked_to) {
    wait("k", 10, begins::there);
    EXPECT_EQ(begun_.back().from, 11);
    act(all_.created(last_begun(), 20, now_));
    EXPECT_THAT(told_, IsEmpty()) << "etcd will say what happened since";
    act(all_.happened(last_begun(), {15, 15}, now_));
    EXPECT_THAT(told_, ElementsAre(10));
}

TEST_F(etcd_watch_table, are_used_again_and_know_what_happened_meanwhile) {
    wait("k", 10);
    act(all_.created(last_begun(), 10, now_));
    act(all_.happened(last_begun(), {12, 12}, now_));
    wait("k", 14);
    EXPECT_THAT(told_, ElementsAre(10));
    act(all_.happened(last_begun(), {16, 16}, now_));
    EXPECT_THAT(told_, ElementsAre(10, 14));
    EXPECT_EQ(wait("k", 15), 0) << "that was deleted after it was read";
    EXPECT_EQ(wait("k", 9), 0) << "of that nothing is known";
    EXPECT_THAT(told_, ElementsAre(10, 14, 15, 9));
    EXPECT_THAT(begun_, SizeIs(1));
    EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(etcd_watch_table, do_not_tell_of_what_was_deleted_before_it_was_read) {
    wait("k", 10);
    act(all_.created(last_begun(), 10, now_));
    wait("k", 14);
    act(all_.happened(last_begun(), {12, 12}, now_));
    EXPECT_THAT(told_, ElementsAre(10)) << "the other one saw it in line again";
}

TEST_F(etcd_watch_table, end_a_while_after_the_last_who_waited) {
    const number waiting = wait("k", 10);
    act(all_.created(last_begun(), 10, now_));
    EXPECT_FALSE(all_.idle());
    act(all_.forget(waiting, now_));
    EXPECT_TRUE(all_.idle());
    act(all_.sweep(now_ + 300ms));
    EXPECT_THAT(ended_, IsEmpty());
    act(all_.sweep(now_ + 10s));
    EXPECT_THAT(ended_, ElementsAre(last_begun()));
    EXPECT_FALSE(all_.idle());
    wait("k", 20);
    EXPECT_THAT(begun_, SizeIs(2));
}

TEST_F(etcd_watch_table, that_are_idle_are_few) {
    for (int n = 0; n < 1000; ++n) act(all_.forget(wait(std::to_string(n), 10), now_));
    ASSERT_GE(ended_.size(), 700u);
    EXPECT_EQ(ended_.front(), begun_.front().which) << "the longest idle first";
}

TEST_F(etcd_watch_table, that_are_cancelled_tell_all_and_are_begun_anew) {
    wait("k", 10, begins::there);
    wait("k", 14);
    act(all_.cancelled(last_begun()));
    EXPECT_THAT(told_, ElementsAre(10, 14));
    EXPECT_THAT(ended_, IsEmpty()) << "etcd has ended it";
    wait("k", 20);
    EXPECT_THAT(begun_, SizeIs(2));
}

TEST_F(etcd_watch_table, on_a_new_stream_miss_nothing) {
    act(all_.forget(wait("idle", 5), now_));
    wait("known", 10);
    act(all_.created(last_begun(), 10, now_));
    wait("known", 12);
    wait("not yet", 11);
    begun_.clear();
    act(all_.reopened());
    ASSERT_THAT(begun_, SizeIs(2)) << "without the idle one";
    for (const auto& one : begun_) {
        EXPECT_EQ(one.from, one.key == "known" ? 11 : 0);
        act(all_.created(one.which, 30, now_));
    }
    EXPECT_THAT(told_, ElementsAre(11));
    for (const auto& one : begun_) act(all_.happened(one.which, {11, 11}, now_));
    EXPECT_THAT(told_, ElementsAre(11, 10));
}

TEST_F(etcd_watch_table, let_who_is_next_look_again_while_they_are_young) {
    const number waiting = wait("k", 10, begins::now, 10ms);
    EXPECT_EQ(look_at_, now_ + 10ms);
    act(all_.look_again(waiting, now_ + 10ms));
    EXPECT_THAT(told_, ElementsAre(10));
    act(all_.look_again(waiting, now_ + 10ms));
    EXPECT_THAT(told_, ElementsAre(10)) << "once";
    act(all_.created(last_begun(), 10, now_));
    wait("k", 11);
    EXPECT_EQ(look_at_, std::nullopt) << "who is far back does not";
    now_ += 1s;
    wait("k", 12, begins::now, 10ms);
    EXPECT_EQ(look_at_, std::nullopt) << "it is served at once by now";
}

TEST_F(etcd_watch_table, of_folders_tell_of_writes_also_of_those_before_the_watch_began) {
    watch_table::actions out;
    const auto tells = [this] { told_.push_back(0); };
    all_.wait_for_writes("f/", 10, watch_table::writes::all, tells, now_, out);
    ASSERT_THAT(out.begin, SizeIs(1));
    EXPECT_EQ(out.begin.front().from, 11) << "what is older concerns nobody";
    EXPECT_TRUE(out.begin.front().is_folder);
    const number folder = out.begin.front().which;
    EXPECT_TRUE(all_.is_folder(folder));
    act(all_.created(folder, 15, now_));
    EXPECT_THAT(told_, IsEmpty()) << "etcd sends what was written since";
    act(all_.happened(folder, {12, 12}, now_));
    EXPECT_THAT(told_, ElementsAre(0));
    wait("f/k", 16);
    EXPECT_FALSE(all_.is_folder(last_begun()));
    watch_table::actions again;
    all_.wait_for_writes("f/", 11, watch_table::writes::all, tells, now_, again);
    EXPECT_THAT(again.begin, IsEmpty());
    act(std::move(again));
    EXPECT_THAT(told_, ElementsAre(0, 0)) << "at once: something was written meanwhile";
}

TEST_F(etcd_watch_table, of_folders_begin_anew_for_who_has_read_earlier) {
    watch_table::actions out;
    all_.wait_for_writes(
        "f/", 15, watch_table::writes::all, [this] { told_.push_back(1); }, now_, out);
    const number later = out.begin.front().which;
    act(all_.created(later, 15, now_));
    watch_table::actions more;
    all_.wait_for_writes(
        "f/", 10, watch_table::writes::all, [this] { told_.push_back(2); }, now_, more);
    ASSERT_THAT(more.begin, SizeIs(1));
    EXPECT_EQ(more.begin.front().from, 11);
    const number earlier = more.begin.front().which;
    act(std::move(more));
    EXPECT_THAT(told_, IsEmpty()) << "nothing is known to have been written";
    act(all_.happened(later, {16, 16}, now_));
    EXPECT_THAT(told_, ElementsAre(1));
    now_ += 2s;
    act(all_.sweep(now_));
    watch_table::actions third;
    all_.wait_for_writes(
        "f/", 15, watch_table::writes::all, [this] { told_.push_back(3); }, now_, third);
    EXPECT_THAT(third.begin, IsEmpty()) << "the older one serves";
    act(all_.happened(earlier, {16, 16}, now_));
    EXPECT_THAT(told_, ElementsAre(1, 2, 3));
}

TEST_F(etcd_watch_table, of_folders_do_not_tell_who_reads_of_others_who_came_to_read) {
    using writes = watch_table::writes;
    watch_table::actions out;
    all_.wait_for_writes(
        "f/", 10, writes::but_of_readers, [this] { told_.push_back(1); }, now_, out);
    all_.wait_for_writes(
        "f/", 10, writes::all, [this] { told_.push_back(2); }, now_, out);
    const number folder = out.begin.front().which;
    act(all_.created(folder, 10, now_));
    act(all_.happened(folder, {.any = 12}, now_));
    EXPECT_THAT(told_, ElementsAre(2));
    watch_table::actions later;
    all_.wait_for_writes(
        "f/", 11, writes::but_of_readers, [this] { told_.push_back(3); }, now_, later);
    EXPECT_THAT(later.tell, IsEmpty()) << "what was written since does not concern it";
    act(all_.happened(folder, {.any = 14, .but_of_readers = 13}, now_));
    EXPECT_THAT(told_, ElementsAre(2, 1, 3));
    all_.wait_for_writes(
        "f/", 12, writes::but_of_readers, [this] { told_.push_back(4); }, now_, later);
    act(std::move(later));
    EXPECT_THAT(told_, ElementsAre(2, 1, 3, 4)) << "this does";
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
