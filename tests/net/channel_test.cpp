// One socket, many threads: who reads, who writes, and that each gets its own answers.
#include "channel_suite.hpp"

#include <atomic>

namespace mortise::testing {
namespace {

TEST_F(channels, a_lone_caller_reads_its_answers_itself) {
    const auto on = channel_that_is_up();
    for (int i = 0; i < 20; ++i) {
        const line_answer said = on->ask(std::to_string(i));
        EXPECT_EQ(said.text, std::to_string(i));
        EXPECT_EQ(said.by, std::this_thread::get_id());
    }
}

TEST_F(channels, eight_threads_get_their_own_answers) {
    const auto on = channel();
    std::atomic<int> right{0};
    {
        std::vector<std::jthread> crowd;
        for (int who = 0; who < 8; ++who)
            crowd.emplace_back([&, who] {
                for (int i = 0; i < 200; ++i) {
                    // Some are so long that the socket does not take them at once.
                    const std::string mine(i % 20 == who ? 300'000 : 10, static_cast<char>('a' + (who + i) % 26));
                    if (on->ask(mine).text == mine) ++right;
                }
            });
    }
    EXPECT_EQ(right, 8 * 200);
    EXPECT_EQ(server_.visits(), 1u);
}

TEST_F(channels, who_is_answered_passes_the_role_on) {
    const auto on = channel_that_is_up();
    server_.hold();
    spi::sleeper first;
    spi::sleeper second;
    auto one = std::async(std::launch::async, [&] { return on->ask("one", first); });
    ASSERT_TRUE(eventually([&] { return server_.heard() == 2; }));
    std::promise<std::thread::id> other;
    auto two = std::async(std::launch::async, [&] {
        other.set_value(std::this_thread::get_id());
        return on->ask("two", second);
    });
    const std::thread::id id_of_the_second = other.get_future().get();
    // One of them sleeps, so the other reads.
    ASSERT_TRUE(eventually([&] {
        return server_.heard() == 3 &&
               (first.is.load() == spi::sleeper::asleep || second.is.load() == spi::sleeper::asleep);
    }));
    server_.answer(1);
    EXPECT_EQ(one.get().text, "one");
    server_.answer(1);
    const line_answer said = two.get();
    EXPECT_EQ(said.text, "two");
    EXPECT_EQ(said.by, id_of_the_second);
}

TEST_F(channels, a_caller_reads_for_those_who_do_not_wait) {
    const auto on = channel_that_is_up();
    const reader reads{on};
    std::promise<line_answer> got;
    on->send("from elsewhere", [&](const line_answer& said) { got.set_value(said); });
    const line_answer said = got.get_future().get();
    EXPECT_EQ(said.text, "from elsewhere");
    EXPECT_EQ(said.by, reads.id());
}

TEST_F(channels, the_io_thread_reads_when_no_caller_does) {
    const auto on = channel_that_is_up();
    std::promise<line_answer> got;
    on->send("not waited for", [&](const line_answer& said) { got.set_value(said); });
    const line_answer said = got.get_future().get();
    EXPECT_EQ(said.text, "not waited for");
    EXPECT_NE(said.by, std::this_thread::get_id());
}

TEST_F(channels, what_is_expected_arrives_although_nothing_was_asked) {
    std::promise<line_answer> got;
    const auto on = channel_that_is_up({.pushed = [&](const line_answer& said) { got.set_value(said); }});
    on->expect(true);
    server_.push("!news");
    EXPECT_EQ(got.get_future().get().text, "!news");
}

TEST_F(channels, a_caller_that_reads_is_woken_by_another_thread) {
    const auto on = channel_that_is_up();
    reader reads{on};
    reads.wake();  // returns when the caller has
    EXPECT_EQ(on->ask("afterwards").by, std::this_thread::get_id());
}

TEST_F(channels, a_caller_gives_up_where_no_answer_is_due) {
    const auto on = channel_that_is_up();
    spi::sleeper who;
    EXPECT_FALSE(on->wait(who, true));
    EXPECT_EQ(on->ask("afterwards").text, "afterwards");
}

TEST_F(channels, who_goes_last_reads_without_the_io_thread) {
    const auto on = channel_that_is_up();
    sockets_.stop();
    line_answer got;
    on->send("farewell", [&](const line_answer& said) { got = said; });
    on->serve(30s, [&] { return !got.text.empty(); });
    EXPECT_EQ(got.text, "farewell");
    EXPECT_EQ(got.by, std::this_thread::get_id());
}

TEST_F(channels, a_server_that_does_not_read_blocks_nobody) {
    const auto on = channel_that_is_up();
    server_.be_deaf(true);
    constexpr std::size_t count = 32;
    std::vector<std::promise<std::string>> got(count);
    const std::string much(std::size_t{1} << 20, 'x');
    for (std::size_t i = 0; i < count; ++i)
        on->send(std::to_string(i) + much, [&, i](const line_answer& said) { got[i].set_value(said.text); });
    server_.be_deaf(false);
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(got[i].get_future().get() == std::to_string(i) + much) << i;
    EXPECT_EQ(server_.visits(), 1u);
}

TEST_F(channels, a_caller_reads_while_the_io_thread_goes_on_writing) {
    const auto on = channel_that_is_up();
    const reader reads{on};
    server_.be_deaf(true);
    const std::string much(std::size_t{16} << 20, 'x');
    std::promise<line_answer> got;
    on->send(much, [&](const line_answer& said) { got.set_value(said); });
    server_.be_deaf(false);
    const line_answer said = got.get_future().get();
    EXPECT_TRUE(said.text == much);
    EXPECT_EQ(said.by, reads.id());
}

TEST_F(channels, close_while_a_caller_reads) {
    const auto on = channel_that_is_up();
    reader reads{on};
    server_.hold();
    const auto owned = std::make_shared<int>();
    std::atomic<bool> told{false};
    on->send("never answered", [&, owned](const line_answer&) { told = true; });
    on->close();
    EXPECT_EQ(owned.use_count(), 1) << "what was on its way is not forgotten";
    server_.go_on();
    reads.wake();  // it sleeps on until somebody answers it
    on->send("too late", [&](const line_answer&) { told = true; });
    EXPECT_FALSE(told);
}

}  // namespace
}  // namespace mortise::testing
