// Deadlocks between threads of one process: found, named and broken.
#include "core/wait_graph.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

blocked_owner waits(owner_key who, const std::string& name, std::uint32_t weight = 1, std::uint32_t capacity = 1) {
    return {who, {"s", name}, capacity, weight, "thread " + std::to_string(who)};
}
owned_lock has(owner_key who, const std::string& name, std::uint32_t weight = 1) {
    return {who, {"s", name}, weight};
}

TEST(cycles, of_two_and_of_three_are_found) {
    EXPECT_THAT(find_cycles({waits(1, "b"), waits(2, "a")}, {has(1, "a"), has(2, "b")}),
                ElementsAre(ElementsAre(0, 1)));
    const auto three = find_cycles({waits(1, "b"), waits(2, "c"), waits(3, "a"), waits(4, "a")},
                                   {has(1, "a"), has(2, "b"), has(3, "c")});
    EXPECT_THAT(three, ElementsAre(UnorderedElementsAre(0, 1, 2))) << "the fourth only waits for them";
}

TEST(cycles, are_not_seen_where_somebody_can_go_on) {
    EXPECT_THAT(find_cycles({}, {has(1, "a")}), IsEmpty());
    EXPECT_THAT(find_cycles({waits(1, "b")}, {has(1, "a"), has(2, "b")}), IsEmpty()) << "2 does not wait";
    EXPECT_THAT(find_cycles({waits(1, "b"), waits(2, "c")}, {has(1, "a"), has(2, "b")}), IsEmpty()) << "a chain";
    EXPECT_THAT(find_cycles({waits(1, "a")}, {has(1, "a")}), IsEmpty()) << "its own is no cycle: an upgrade";
    EXPECT_THAT(find_cycles({{1, {"s", "b"}}, {2, {"s", "a"}}}, {{1, {"s", "a"}}, {2, {"t", "b"}}}), IsEmpty())
        << "another store";
}

TEST(cycles, go_by_weight) {
    constexpr std::uint32_t all = 4;
    const std::vector readers{has(1, "a"), has(2, "b")};
    EXPECT_THAT(find_cycles({waits(1, "b", 1, all), waits(2, "a", 1, all)}, readers), IsEmpty()) << "readers fit";
    EXPECT_THAT(find_cycles({waits(1, "b", all, all), waits(2, "a", all, all)}, readers),
                ElementsAre(ElementsAre(0, 1)));
}

TEST(cycles, that_do_not_touch_are_all_found) {
    const auto found = find_cycles({waits(1, "b"), waits(2, "a"), waits(3, "d"), waits(4, "c"), waits(5, "a")},
                                   {has(1, "a"), has(2, "b"), has(3, "c"), has(4, "d")});
    EXPECT_THAT(found, UnorderedElementsAre(UnorderedElementsAre(0, 1), UnorderedElementsAre(2, 3)));
}

TEST(cycles, are_told_as_a_story) {
    EXPECT_EQ(describe_cycle({waits(1, "b"), waits(2, "a")}, {0, 1}),
              "deadlock: thread 1 holds 'a' and waits for 'b'; thread 2 holds 'b' and waits for 'a'");
}

// Two threads, each with a lock of its own that the other one wants.
class deadlock : public ::testing::Test {
protected:
    client locks_{"memory:deadlock"};
    client others_{"memory:deadlock"};

    // What locking `second` while holding `first` is answered, in a thread of that name.
    template <class First, class Second>
    std::jthread crossed(const char* name, First& first, Second& second, std::string& said, std::error_code& code) {
        return std::jthread{[this, name, &first, &second, &said, &code] {
            ::pthread_setname_np(::pthread_self(), name);
            first.lock();
            both_.arrive_and_wait();
            try {
                second.lock();
                second.unlock();
                said = "locked";
            } catch (const error& e) {
                said = e.what();
                code = e.code();
            }
            first.unlock();
        }};
    }

    std::latch both_{2};
    std::string said_[2];
    std::error_code code_[2];

    void one_gave_way_and_named_both() {
        const int loser = said_[0] == "locked" ? 1 : 0;
        EXPECT_EQ(said_[1 - loser], "locked");
        EXPECT_EQ(code_[loser], errc::would_deadlock);
        EXPECT_THAT(said_[loser], HasSubstr("(left) holds 'a' and waits for 'b'"));
        EXPECT_THAT(said_[loser], HasSubstr("(right) holds 'b' and waits for 'a'"));
        EXPECT_THAT(locks_.list(), IsEmpty());
    }
};

TEST_F(deadlock, of_two_threads_is_named_and_one_of_them_gives_way) {
    mutex a{locks_, "a"}, b{locks_, "b"};
    {
        const auto left = crossed("left", a, b, said_[0], code_[0]);
        const auto right = crossed("right", b, a, said_[1], code_[1]);
    }
    one_gave_way_and_named_both();
}

TEST_F(deadlock, is_found_across_kinds_and_clients_of_one_store) {
    recursive_mutex a{locks_, "a"};
    mutex a_again{others_, "a"};
    mutex b{others_, "b"}, b_again{locks_, "b"};
    {
        const auto left = crossed("left", a, b_again, said_[0], code_[0]);
        const auto right = crossed("right", b, a_again, said_[1], code_[1]);
    }
    one_gave_way_and_named_both();
}

TEST_F(deadlock, is_found_between_a_reader_and_a_writer) {
    shared_mutex a{locks_, "a"};
    mutex b{locks_, "b"};
    struct reading {
        shared_mutex& of;
        void lock() { of.lock_shared(); }
        void unlock() { of.unlock_shared(); }
    } read_a{a};
    {
        const auto left = crossed("left", read_a, b, said_[0], code_[0]);
        const auto right = crossed("right", b, a, said_[1], code_[1]);
    }
    one_gave_way_and_named_both();
}

TEST_F(deadlock, that_a_time_limit_ends_is_left_alone) {
    mutex a{locks_, "a"}, b{locks_, "b"};
    {
        const auto left = crossed("left", a, b, said_[0], code_[0]);
        const std::jthread right{[&] {
            b.lock();
            both_.arrive_and_wait();
            EXPECT_FALSE(a.try_lock_for(700ms));
            b.unlock();
        }};
    }
    EXPECT_EQ(said_[0], "locked") << "it waited until the other one gave up";
}

TEST_F(deadlock, is_not_cried_where_threads_just_wait_long) {
    mutex a{locks_, "a"}, b{locks_, "b"};
    std::atomic<bool> go{false};
    std::jthread holder{[&] {
        a.lock();
        while (!go) std::this_thread::sleep_for(10ms);
        a.unlock();
    }};
    EXPECT_TRUE(eventually([&] { return locks_.list().size() == 1; }));
    std::jthread chained{[&] {
        b.lock();
        EXPECT_NO_THROW(a.lock());
        a.unlock();
        b.unlock();
    }};
    std::jthread last{[&] {
        EXPECT_NO_THROW(b.lock());
        b.unlock();
    }};
    std::this_thread::sleep_for(600ms);
    go = true;
}

}  // namespace
}  // namespace mortise::core
