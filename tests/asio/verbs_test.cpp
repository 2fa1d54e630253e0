// Every verb with a callback, a future and co_await, on every store; and the other tokens of Asio.
#include "asio/suite.hpp"

#include <array>
#include <future>
#include <memory>
#include <memory_resource>
#include <thread>
#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

namespace mortise::testing {
namespace {

// Calls `verb(token)` with a callback, with use_future and with use_awaitable, and `check` with what each gave. A handler that
// begins with an exception_ptr has to be called without one.
template <class Verb, class Check>
void in_three_ways(net::io_context& io, Verb verb, Check check) {
    {
        int calls = 0;
        bool inside = true;
        const auto owned = std::make_unique<int>(7);  // makes the handler move-only
        verb(net::bind_executor(io, [&, own = std::make_unique<int>(7)](auto first, auto... rest) {
            EXPECT_FALSE(inside) << "the handler ran inside the verb";
            EXPECT_EQ(*own, *owned);
            ++calls;
            if constexpr (std::is_same_v<decltype(first), std::exception_ptr>) {
                ASSERT_FALSE(first);
                check(std::move(rest)...);
            } else {
                check(std::move(first));
            }
        }));
        inside = false;
        run(io);
        EXPECT_EQ(calls, 1) << "as a callback";
    }
    {
        auto future = verb(net::bind_executor(io, net::use_future));
        run(io);
        ASSERT_EQ(future.wait_for(plenty), std::future_status::ready);
        if constexpr (std::is_void_v<decltype(future.get())>) {
            future.get();
            check();
        } else {
            check(future.get());
        }
    }
    bool ended = false;
    go(io, [&]() -> net::awaitable<void> {
        using result = decltype(verb(net::use_awaitable));
        if constexpr (std::is_same_v<result, net::awaitable<void>>) {
            co_await verb(net::use_awaitable);
            check();
        } else {
            auto got = co_await verb(net::use_awaitable);
            check(std::move(got));
        }
        ended = true;
    });
    EXPECT_TRUE(ended) << "as a coroutine";
}

class asio_verbs : public asio_suite {};
EVERY_PLAIN_STORE(asio_verbs);

TEST_P(asio_verbs, a_client_acquires_tries_releases_and_lists) {
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire(locks_, "n", std::move(token)); },
        [&](hold got) {
            EXPECT_TRUE(got.valid());
            EXPECT_EQ(got.name(), "n");
            EXPECT_FALSE(others_.try_acquire("n"));
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire(locks_, "n", {.wait = 5s}, std::move(token)); },
        [&](const hold& got) { EXPECT_TRUE(got.valid()); });
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire(locks_, "n", std::move(token)); },
        [&](attempt got) { EXPECT_TRUE(got); });
    in_three_ways(
        io_, [&](auto&& token) { return async_release(others_.acquire("n"), std::move(token)); },
        [&](release_result said) {
            EXPECT_EQ(said, release_result::released);
            EXPECT_TRUE(empty());
        });
    if (locks_.promises().detached)
        in_three_ways(
            io_,
            [&](auto&& token) {
                const hold kept = others_.acquire("kept", {.kept_by = kept_by::lease});
                return async_release(locks_, "kept", kept.id(), std::move(token));
            },
            [&](release_result said) { EXPECT_EQ(said, release_result::released); });
    const hold held = others_.acquire("n");
    in_three_ways(
        io_, [&](auto&& token) { return async_list(locks_, std::move(token)); },
        [&](const std::vector<held_lock>& all) {
            ASSERT_EQ(all.size(), 1u);
            EXPECT_EQ(all.front().name, "n");
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire(locks_, "n", {.wait = 1ms}, std::move(token)); },
        [&](const attempt& got) { EXPECT_EQ(got.reason(), errc::timed_out); });
}

TEST_P(asio_verbs, a_shared_mutex_reads_writes_and_steps_between) {
    if (!locks_.promises().upgrades) GTEST_SKIP() << "the store does not promise upgrades";
    shared_mutex lock{locks_, "n"};
    shared_mutex theirs{others_, "n"};
    const auto granted = [](const hold& got) { EXPECT_TRUE(got.valid()); };
    const auto yes = [](const attempt& got) { EXPECT_TRUE(got); };
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire(lock, std::move(token)); },
        [&](const hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_FALSE(theirs.try_acquire_shared());
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire_shared(lock, std::move(token)); },
        [&](const hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_TRUE(theirs.try_acquire_upgradeable());
            EXPECT_FALSE(theirs.try_acquire());
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire_upgradeable(lock, std::move(token)); }, granted);
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire(lock, std::move(token)); }, yes);
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire_shared(lock, std::move(token)); }, yes);
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire_upgradeable(lock, std::move(token)); }, yes);

    hold mine;
    in_three_ways(
        io_,
        [&](auto&& token) {
            mine = lock.acquire_upgradeable();
            return async_upgrade(lock, mine, std::move(token));
        },
        [&](const hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_FALSE(mine);
            EXPECT_FALSE(theirs.try_acquire_shared());
        });
    in_three_ways(
        io_,
        [&](auto&& token) {
            mine = lock.acquire_upgradeable();
            return async_try_upgrade(lock, mine, std::move(token));
        },
        yes);
    in_three_ways(
        io_,
        [&](auto&& token) {
            mine = lock.acquire();
            return async_downgrade(lock, mine, std::move(token));
        },
        [&](const hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_TRUE(theirs.try_acquire_shared());
        });
    in_three_ways(
        io_,
        [&](auto&& token) {
            mine = lock.acquire();
            return async_downgrade_to_shared(lock, mine, std::move(token));
        },
        granted);
    EXPECT_TRUE(empty());
}

TEST_P(asio_verbs, permits_several_names_and_elections) {
    counting_semaphore pool{locks_, "pool", 3};
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire(pool, std::move(token)); },
        [&](const hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_TRUE(pool.try_acquire(2));
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire(pool, 3, std::move(token)); },
        [&](const hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_FALSE(pool.try_acquire());
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire(pool, 2, std::move(token)); },
        [](const attempt& got) { EXPECT_TRUE(got); });

    multi_lock both{locks_, {"a", "b"}};
    in_three_ways(
        io_, [&](auto&& token) { return async_acquire(both, std::move(token)); },
        [&](const multi_hold& got) {
            EXPECT_TRUE(got.valid());
            EXPECT_FALSE(others_.try_acquire("a"));
        });
    in_three_ways(
        io_, [&](auto&& token) { return async_try_acquire(both, std::move(token)); },
        [](const multi_attempt& got) { EXPECT_TRUE(got); });
    in_three_ways(
        io_, [&](auto&& token) { return async_release(both.acquire(), std::move(token)); },
        [](release_result said) { EXPECT_EQ(said, release_result::released); });

    election chief{locks_, "chief"};
    in_three_ways(
        io_, [&](auto&& token) { return async_campaign(chief, std::move(token)); },
        [&] {
            EXPECT_TRUE(chief.is_leader());
            chief.resign();
        });
    in_three_ways(
        io_,
        [&](auto&& token) {
            chief.campaign();
            return async_resign(chief, std::move(token));
        },
        [&](release_result said) {
            EXPECT_EQ(said, release_result::released);
            EXPECT_FALSE(chief.is_leader());
        });
    EXPECT_TRUE(empty());
}

TEST_P(asio_verbs, refusals_are_thrown_with_the_whole_story_or_answered) {
    const hold held = others_.acquire("n", {.label = "nightly"});
    shared_mutex lock{locks_, "shared"};
    const hold reading = lock.acquire_shared();
    bool ended = false;
    go(io_, [&]() -> net::awaitable<void> {
        const claim_options brief{.wait = 2s};  // long enough to be told who is in the way
        try {
            co_await async_acquire(locks_, "n", brief, net::use_awaitable);
            ADD_FAILURE() << "acquired what is held";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::timed_out);
            EXPECT_NE(std::string(e.what()).find("nightly"), std::string::npos) << e.what();
        }
        const attempt no = co_await async_try_acquire(locks_, "n", net::use_awaitable);
        EXPECT_EQ(no.reason(), errc::busy);

        // What the blocking verbs throw arrives in the handler too.
        const attempt nameless = co_await async_try_acquire(locks_, "", net::use_awaitable);
        EXPECT_EQ(nameless.reason(), errc::invalid_name);
        const auto [thrown, none] = co_await async_upgrade(lock, reading, net::as_tuple(net::use_awaitable));
        EXPECT_TRUE(thrown);
        EXPECT_FALSE(none);
        ended = true;
    });
    EXPECT_TRUE(ended);
    auto future = async_acquire(locks_, "", net::bind_executor(io_, net::use_future));
    run(io_);
    EXPECT_THROW(static_cast<void>(future.get()), error);
}

TEST_P(asio_verbs, work_with_every_kind_of_token) {
    using namespace net::experimental::awaitable_operators;
    // deferred: nothing happens until it is called.
    auto later = async_acquire(locks_, "n", net::deferred);
    EXPECT_TRUE(empty());
    bool called = false;
    std::move(later)(
        net::bind_executor(io_, [&](std::exception_ptr e, const hold& got) { called = !e && got.valid(); }));
    run(io_);
    EXPECT_TRUE(called);

    // An executor of its own: a strand of a pool.
    net::thread_pool pool{2};
    const auto strand = net::make_strand(pool);
    std::promise<bool> on_strand;
    async_acquire(locks_, "n", net::bind_executor(strand, [&](std::exception_ptr, const hold&) {
                      on_strand.set_value(strand.running_in_this_thread());
                  }));
    EXPECT_TRUE(on_strand.get_future().get());

    // None at all: a thread of the system's, not the caller's and not the notifier's.
    std::promise<std::thread::id> there;
    async_acquire(locks_, "n", [&](std::exception_ptr, const hold&) { there.set_value(std::this_thread::get_id()); });
    std::promise<std::thread::id> notifier;
    const auto where = there.get_future().get();
    EXPECT_NE(where, std::this_thread::get_id());
    locks_.start_list([&](const auto&, std::error_code) { notifier.set_value(std::this_thread::get_id()); });
    EXPECT_NE(where, notifier.get_future().get());

    // || with a timer, both ways.
    hold held = others_.acquire("n");
    std::size_t first = 9;
    std::size_t second = 9;
    go(io_, [&]() -> net::awaitable<void> {
        net::steady_timer timer{io_, 1ms};
        auto brief = co_await (async_acquire(locks_, "n", net::use_awaitable) || timer.async_wait(net::use_awaitable));
        first = brief.index();
        held.release();
        timer.expires_after(plenty);
        auto fine = co_await (async_acquire(locks_, "n", net::use_awaitable) || timer.async_wait(net::use_awaitable));
        second = fine.index();
        EXPECT_TRUE(std::get<0>(fine).valid());
    });
    EXPECT_EQ(first, 1u);
    EXPECT_EQ(second, 0u);
    EXPECT_TRUE(eventually([&] { return empty(); }));
}

TEST_P(asio_verbs, use_the_handlers_allocator) {
    std::array<std::byte, 1 << 16> room;
    std::pmr::monotonic_buffer_resource only{room.data(), room.size(), std::pmr::null_memory_resource()};
    bool called = false;
    async_acquire(
        locks_, "n",
        net::bind_executor(io_, net::bind_allocator(std::pmr::polymorphic_allocator<>{&only},
                                                    [&](std::exception_ptr e, const hold&) { called = !e; })));
    run(io_);
    EXPECT_TRUE(called);
}

}  // namespace
}  // namespace mortise::testing
