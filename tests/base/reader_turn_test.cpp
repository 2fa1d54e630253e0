// Whose turn it is to read: taken, passed on to a follower that still waits, and given up.
#include "base/reader_turn.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace mortise::base {
namespace {

using lock = std::unique_lock<std::mutex>;

void answer(spi::sleeper& who) {
    who.is.store(spi::sleeper::answered);
    who.is.notify_one();
}

// A thread that follows until it is answered or has the turn.
class follower {
public:
    follower(reader_turn& turn, std::mutex& mutex)
        : thread_([&] {
              lock held{mutex};
              turn.follow(held, sleeper_);
              got_turn_ = turn.is_of(&sleeper_);
          }) {
        while (sleeper_.is.load() != spi::sleeper::asleep) std::this_thread::yield();
    }
    spi::sleeper& who() noexcept { return sleeper_; }
    bool got_turn() {
        thread_.join();
        return got_turn_;
    }

private:
    spi::sleeper sleeper_{};
    bool got_turn_ = false;
    std::thread thread_;
};

TEST(reader_turn, is_of_one_reader_at_a_time) {
    reader_turn turn;
    const int a = 0;
    const int b = 0;
    EXPECT_TRUE(turn.free());
    turn.take(&a);
    EXPECT_FALSE(turn.free());
    EXPECT_TRUE(turn.is_of(&a));
    EXPECT_FALSE(turn.is_of(&b));
    turn.drop(&b);
    EXPECT_TRUE(turn.is_of(&a)) << "only the reader drops its turn";
    turn.drop(&a);
    EXPECT_TRUE(turn.free());
}

TEST(reader_turn, an_answered_caller_does_not_follow) {
    reader_turn turn;
    std::mutex mutex;
    spi::sleeper who;
    answer(who);
    lock held{mutex};
    turn.follow(held, who);
    EXPECT_TRUE(held.owns_lock());
    EXPECT_FALSE(turn.pass_on());
}

TEST(reader_turn, passes_to_the_follower_that_came_first) {
    reader_turn turn;
    std::mutex mutex;
    follower first{turn, mutex};
    follower second{turn, mutex};
    {
        lock held{mutex};
        ASSERT_TRUE(turn.pass_on());
        EXPECT_TRUE(turn.is_of(&first.who()));
    }
    EXPECT_TRUE(first.got_turn());
    {
        lock held{mutex};
        turn.drop(&first.who());
        ASSERT_TRUE(turn.pass_on());
    }
    EXPECT_TRUE(second.got_turn());
}

TEST(reader_turn, passes_over_a_follower_that_is_answered) {
    reader_turn turn;
    std::mutex mutex;
    follower answered{turn, mutex};
    follower waits{turn, mutex};
    {
        lock held{mutex};  // so that the answered one cannot leave
        answer(answered.who());
        ASSERT_TRUE(turn.pass_on());
        EXPECT_TRUE(turn.is_of(&waits.who()));
    }
    EXPECT_FALSE(answered.got_turn());
    EXPECT_TRUE(waits.got_turn());
    lock held{mutex};
    turn.drop(&waits.who());
    EXPECT_FALSE(turn.pass_on()) << "nobody follows any more";
}

TEST(reader_turn, a_reader_that_polls_can_be_woken) {
    reader_turn turn;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    turn.wake();
    EXPECT_FALSE(turn.poll(ends[0])) << "woken, and nothing to read";
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_TRUE(turn.poll(ends[0])) << "the wake-up was used up";
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace mortise::base
