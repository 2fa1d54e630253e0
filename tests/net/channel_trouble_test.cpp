// A channel whose server goes away, returns, or says nothing.
#include "channel_suite.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace mortise::testing {
namespace {

class channels_in_trouble : public channels {
protected:
    // Asks until it is answered: what is asked while it is down fails at once.
    static bool works(line_channel& on) {
        return eventually([&] { return on.ask("again").text == "again"; });
    }
};

TEST_F(channels_in_trouble, a_cut_in_the_middle_of_an_answer_fails_all_that_was_asked) {
    const auto on = channel_that_is_up();
    server_.hold();
    std::atomic<int> failed{0};
    {
        std::vector<std::jthread> crowd;
        for (int who = 0; who < 8; ++who)
            crowd.emplace_back([&, who] {
                const line_answer said = on->ask("of a crowd " + std::to_string(who));
                if (said.failed && said.text == "the server closed the connection") ++failed;
            });
        EXPECT_TRUE(eventually([&] { return server_.heard() == 9; }));
        server_.cut_within_an_answer();
        server_.answer(1);
    }
    EXPECT_EQ(failed, 8);
    server_.go_on();
    EXPECT_TRUE(works(*on));
    EXPECT_EQ(server_.visits(), 2u);
}

TEST_F(channels_in_trouble, what_the_socket_did_not_take_is_not_sent_to_the_next_one) {
    const auto on = channel_that_is_up();
    const std::string much(std::size_t{8} << 20, 'x');
    for (int cuts = 0; cuts < 10; ++cuts) {  // the caller that reads notices first, or the io thread, which writes on
        const reader reads{on};
        server_.be_deaf(true);
        std::promise<line_answer> got;
        on->send(much, [&](const line_answer& said) { got.set_value(said); });
        server_.cut();
        server_.be_deaf(false);
        EXPECT_TRUE(got.get_future().get().failed);
        line_answer next;
        ASSERT_TRUE(eventually([&] { return !(next = on->ask("next")).failed; })) << "after " << cuts << " cuts";
        EXPECT_TRUE(next.text == "next") << "after " << next.text.size() - 4 << " bytes of the old line";
    }
}

TEST_F(channels_in_trouble, pauses_between_attempts_grow) {
    std::mutex mutex;
    std::vector<spi::time_point> broke;
    server_.refuse();
    const auto on = channel({.returns = true, .broke = [&](const net::trouble& why) {
                                 EXPECT_FALSE(why.hopeless);
                                 std::scoped_lock guard{mutex};
                                 broke.push_back(clock_.now());
                             }});
    const spi::time_point begun = clock_.now();
    EXPECT_EQ(on->ask("in vain").text, "Connection refused");
    const auto attempts = [&] {
        std::scoped_lock guard{mutex};
        return broke.size();
    };
    ASSERT_TRUE(eventually([&] { return attempts() >= 5; })) << "it does not try by itself";
    {
        std::scoped_lock guard{mutex};
        // Counted from the beginning: each is told of somewhat late.
        for (std::size_t i = 0; i < 5; ++i) EXPECT_GE(broke[i] - begun, 20ms * ((1 << i) - 1)) << i;
    }
    server_.accept();
    EXPECT_TRUE(eventually([&] { return on->up(); }));
    EXPECT_EQ(on->ask("at last").text, "at last");
}

TEST_F(channels_in_trouble, nothing_is_tried_until_it_is_used) {
    const auto on = channel();
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(server_.visits(), 0u);
    EXPECT_EQ(on->ask("first").text, "first");
    const reader reads{on};
    server_.cut();
    ASSERT_TRUE(eventually([&] { return on->down(); }));
    std::this_thread::sleep_for(100ms);  // the pause is shorter
    EXPECT_TRUE(on->down());
    EXPECT_EQ(server_.visits(), 1u);
    EXPECT_TRUE(works(*on));
    EXPECT_EQ(server_.visits(), 2u);
}

TEST_F(channels_in_trouble, a_server_that_says_nothing_is_given_up) {
    const auto on = channel_that_is_up({.timeout = 1s});
    server_.hold();
    EXPECT_EQ(on->ask("in vain").text, "has not answered for 1 s");
    server_.go_on();
    EXPECT_TRUE(works(*on));
}

TEST_F(channels_in_trouble, a_server_that_closes_before_it_says_anything) {
    server_.hold();
    const auto on = channel();
    auto asked = std::async(std::launch::async, [&] { return on->ask("hello?").text; });
    ASSERT_TRUE(eventually([&] { return server_.heard() == 1; }));
    server_.cut();
    EXPECT_EQ(asked.get().find("the server closed the connection before it said anything; if it speaks TLS"), 0u);
}

TEST_F(channels_in_trouble, a_greeting_that_is_not_answered) {
    server_.hold();
    const auto on = channel({.greets = true, .timeout = 200ms});
    EXPECT_EQ(on->ask("in vain").text, "has not answered for 200 ms");
    server_.go_on();
    EXPECT_TRUE(works(*on));
}

TEST_F(channels_in_trouble, who_tells_of_the_end_does_not_take_the_role_from_the_next_connection) {
    std::atomic<int> broke{0};
    std::atomic<std::size_t> heard{0};
    const auto told = [&](const net::trouble&) {
        if (broke++ != 0) return;
        EXPECT_TRUE(eventually([&] { return server_.heard() > heard; }));  // the io thread connects again, and greets
    };
    const auto on = channel_that_is_up({.greets = true, .returns = true, .timeout = 2s, .broke = told});
    const reader reads{on};
    heard = server_.heard();
    server_.hold();
    server_.cut();
    EXPECT_TRUE(eventually([&] { return broke > 1; })) << "a greeting that is not answered is waited for without end";
    server_.go_on();
    EXPECT_TRUE(eventually([&] { return on->up(); }));
}

TEST_F(channels_in_trouble, close_while_it_connects) {
    server_.hold();
    const auto on = channel({.greets = true});
    const auto owned = std::make_shared<int>();
    on->send("never sent", [owned](const line_answer&) {});
    ASSERT_TRUE(eventually([&] { return server_.heard() == 1; }));  // the greeting
    on->close();
    EXPECT_EQ(owned.use_count(), 1);
    EXPECT_FALSE(on->up());
}

TEST_F(channels_in_trouble, a_storm_of_cuts_loses_no_caller) {
    const auto on = channel({.greets = true, .returns = true});
    std::atomic<bool> enough{false};
    std::atomic<int> wrong{0};
    std::atomic<int> answered{0};
    std::vector<std::jthread> crowd;
    for (int who = 0; who < 4; ++who)
        crowd.emplace_back([&, who] {
            for (int i = 0; !enough; ++i) {
                const std::string mine = std::to_string(who) + " " + std::to_string(i);
                const line_answer said = on->ask(mine);
                if (said.failed) continue;
                ++answered;
                if (said.text != mine) ++wrong;
            }
        });
    for (int cuts = 0; cuts < 20; ++cuts) {
        const int before = answered;
        EXPECT_TRUE(eventually([&] { return answered > before + 10; })) << "after " << cuts << " cuts";
        server_.cut();
    }
    enough = true;
    crowd.clear();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mortise::testing
