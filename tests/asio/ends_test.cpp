// What becomes of operations when their io_context or their client ends: nothing leaks, nobody holds, nobody waits.
#include "asio/suite.hpp"

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>

namespace mortise::testing {
namespace {

class asio_ends : public asio_suite {
protected:
    std::size_t waiting() {
        for (const held_lock& one : others_.list())
            if (one.name == "n") return one.waiting;
        return 0;
    }
};
EVERY_PLAIN_STORE(asio_ends);

TEST_P(asio_ends, the_verb_counts_as_work_until_it_is_answered) {
    hold held = others_.acquire("n");
    int calls = 0;
    async_acquire(locks_, "n", net::bind_executor(io_, [&](std::exception_ptr, const hold&) { ++calls; }));
    io_.run_for(20ms);
    EXPECT_FALSE(io_.stopped()) << "run() gave up while somebody waits";
    held.release();
    run(io_);
    EXPECT_EQ(calls, 1);
}

TEST_P(asio_ends, a_context_that_ends_takes_its_waiters_along) {
    const hold held = others_.acquire("n");
    multi_lock both{locks_, {"m", "n"}};
    const auto owned = std::make_shared<int>();
    {
        net::io_context brief;
        const auto never = [owned](auto...) { ADD_FAILURE() << "called after its context"; };
        async_acquire(locks_, "n", net::bind_executor(brief, never));
        async_acquire(both, net::bind_executor(net::make_strand(brief), never));
        net::co_spawn(
            brief,
            [this, owned]() -> net::awaitable<void> {
                co_await async_acquire(locks_, "n", net::use_awaitable);
                ADD_FAILURE() << "resumed after its context";
            },
            never);
        brief.poll();
        EXPECT_TRUE(eventually([&] { return waiting() > 0; }));
        brief.stop();
    }
    EXPECT_EQ(owned.use_count(), 1) << "a handler was leaked";
    EXPECT_TRUE(eventually([&] { return waiting() == 0 && others_.list().size() == 1; }));
}

TEST_P(asio_ends, what_was_granted_to_a_context_that_ends_is_released) {
    const auto owned = std::make_shared<int>();
    {
        net::io_context never_run;
        async_acquire(locks_, "n",
                      net::bind_executor(never_run, [owned](std::exception_ptr, const hold&) { ADD_FAILURE(); }));
        EXPECT_TRUE(eventually([&] { return !empty(); }));
    }
    EXPECT_EQ(owned.use_count(), 1);
    EXPECT_TRUE(eventually([&] { return empty(); }));
}

TEST_P(asio_ends, contexts_that_end_in_the_middle_of_grants_harm_nobody) {
    const auto owned = std::make_shared<int>();
    for (int round = 0; round < 100; ++round) {
        net::io_context brief;
        for (int call = 0; call < 5; ++call)
            async_acquire(locks_, "n", net::bind_executor(brief, [owned](std::exception_ptr, const hold&) {}));
        std::jthread runs{[&] { brief.run_for(std::chrono::microseconds{round * 20}); }};
        runs.join();
    }
    EXPECT_EQ(owned.use_count(), 1);
    EXPECT_TRUE(eventually([&] { return empty(); }));
}

TEST_P(asio_ends, a_client_that_ends_answers_closed) {
    const hold held = others_.acquire("n");
    std::optional<client> brief{make_client()};
    std::vector<std::error_code> reasons;
    const auto take = [&](std::exception_ptr thrown, const auto&...) {
        try {
            ASSERT_TRUE(thrown);
            std::rethrow_exception(thrown);
        } catch (const error& e) {
            reasons.push_back(e.code());
        }
    };
    std::optional<multi_lock> both{std::in_place, *brief, std::initializer_list<std::string_view>{"m", "n"}};
    election chief{*brief, "n"};
    async_acquire(*brief, "n", net::bind_executor(io_, take));
    async_acquire(*both, net::bind_executor(io_, take));
    async_campaign(chief, net::bind_executor(io_, take));
    both.reset();
    brief.reset();
    run(io_);
    EXPECT_EQ(reasons, (std::vector<std::error_code>{errc::closed, errc::closed, errc::closed}));
    EXPECT_EQ(others_.list().size(), 1u);
}

TEST_P(asio_ends, context_and_client_may_end_in_either_order_with_everything_outstanding) {
    const hold held = others_.acquire("n");
    const auto owned = std::make_shared<int>();
    const auto handler = [owned](std::exception_ptr, const hold&) {};
    for (const bool client_first : {true, false}) {
        std::optional<client> brief{make_client()};
        std::optional<net::io_context> io{std::in_place};
        async_acquire(*brief, "n", net::bind_executor(*io, handler));
        async_acquire(*brief, "free", net::bind_executor(*io, handler));
        if (client_first) brief.reset();
        io.reset();
        brief.reset();
        EXPECT_TRUE(eventually([&] { return waiting() == 0 && others_.list().size() == 1; }));
    }
    EXPECT_EQ(owned.use_count(), 2);
}

// A coroutine owns everything: its frame is destroyed by the context.
TEST_P(asio_ends, a_coroutine_may_own_the_client_it_waits_with) {
    const hold held = others_.acquire("n");
    {
        net::io_context brief;
        net::co_spawn(
            brief,
            [this]() -> net::awaitable<void> {
                client own = make_client();
                const hold other = co_await async_acquire(own, "other", net::use_awaitable);
                co_await async_acquire(own, "n", net::use_awaitable);
            },
            [](std::exception_ptr) { ADD_FAILURE(); });
        EXPECT_TRUE(eventually([&] {
            brief.poll();
            return waiting() == 1;
        }));
    }
    EXPECT_TRUE(eventually([&] { return waiting() == 0 && others_.list().size() == 1; }));
}

}  // namespace
}  // namespace mortise::testing
