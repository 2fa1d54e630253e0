// Options in braces, spelled out and left out, inside co_await expressions: g++ 12 destroys their fields twice, and must find
// nothing there that minds (field.hpp). A label longer than a std::string keeps inside, a stop token and a shared pointer are
// freed in every form.
#include "asio/suite.hpp"

#include <memory>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

namespace mortise::testing {
namespace {

const std::string long_label(100, 'x');

class asio_braces : public ::testing::Test {
protected:
    // Runs the coroutine on a client of its own, to the end.
    template <class Body>
    void finishes(Body body) {
        bool ended = false;
        go(io_, [&]() -> net::awaitable<void> {
            co_await body();
            ended = true;
        });
        EXPECT_TRUE(ended);
        EXPECT_TRUE(eventually([&] { return locks_.list().empty(); }));
    }

    std::stop_source source_;
    client locks_{"memory:braces"};
    net::io_context io_;
};

TEST_F(asio_braces, of_a_claim) {
    finishes([&]() -> net::awaitable<void> {
        const hold brief = co_await async_acquire(locks_, "a", {.wait = 200ms}, net::use_awaitable);
        EXPECT_TRUE(brief.valid());
        const hold none = co_await async_acquire(locks_, "b", {}, net::use_awaitable);
        EXPECT_TRUE(none.valid());
        const hold labelled = co_await async_acquire(
            locks_, "c", {.wait = 5s, .label = "short", .stop = source_.get_token()}, net::use_awaitable);
        EXPECT_EQ(locks_.try_acquire("c").refusal().holder->label, "short");
        const attempt longer = co_await async_try_acquire(
            locks_, "d", {.wait = 5s, .label = long_label + "y", .stop = source_.get_token()}, net::use_awaitable);
        EXPECT_TRUE(longer);
        EXPECT_EQ(locks_.try_acquire("d").refusal().holder->label, long_label + "y");
        const attempt none_tried = co_await async_try_acquire(locks_, "e", {}, net::use_awaitable);
        EXPECT_TRUE(none_tried);
    });
}

TEST_F(asio_braces, of_a_claim_that_are_spelled_out_named_or_moved) {
    finishes([&]() -> net::awaitable<void> {
        const hold spelled = co_await async_acquire(
            locks_, "a", claim_options{.label = long_label, .stop = source_.get_token()}, net::use_awaitable);
        EXPECT_EQ(locks_.try_acquire("a").refusal().holder->label, long_label);
        claim_options named{.wait = 1s, .label = long_label, .stop = source_.get_token()};
        const hold by_name = co_await async_acquire(locks_, "b", named, net::use_awaitable);
        const hold copied = co_await async_acquire(locks_, "c", claim_options(named), net::use_awaitable);
        const hold moved = co_await async_acquire(locks_, "d", std::move(named), net::use_awaitable);
        EXPECT_EQ(locks_.try_acquire("d").refusal().holder->label, long_label);
    });
}

TEST_F(asio_braces, of_a_shared_mutex) {
    shared_mutex lock{locks_, "shared"};
    finishes([&]() -> net::awaitable<void> {
        const auto stop = source_.get_token();
        (void)co_await async_acquire(lock, {.wait = 1s}, net::use_awaitable);
        (void)co_await async_acquire(lock, {.wait = 1s, .stop = source_.get_token()}, net::use_awaitable);
        (void)co_await async_acquire(lock, wait_options{.stop = source_.get_token()}, net::use_awaitable);
        (void)co_await async_try_acquire(lock, {.wait = 1s, .stop = stop}, net::use_awaitable);
        (void)co_await async_try_acquire(lock, {}, net::use_awaitable);
        (void)co_await async_acquire_shared(lock, {.wait = 1s, .stop = stop}, net::use_awaitable);
        (void)co_await async_try_acquire_shared(lock, {.wait = 1s, .stop = stop}, net::use_awaitable);
        (void)co_await async_try_acquire_upgradeable(lock, {.wait = 1s, .stop = stop}, net::use_awaitable);
        hold mine = co_await async_acquire_upgradeable(lock, {.wait = 1s, .stop = stop}, net::use_awaitable);
        mine = co_await async_upgrade(lock, mine, {.wait = 1s, .stop = source_.get_token()}, net::use_awaitable);
        mine = co_await async_downgrade(lock, mine, net::use_awaitable);
        attempt up = co_await async_try_upgrade(lock, mine, {.wait = 1s, .stop = stop}, net::use_awaitable);
        EXPECT_TRUE(up);
        EXPECT_TRUE(up->valid());
    });
}

TEST_F(asio_braces, of_permits_several_names_and_elections) {
    counting_semaphore pool{locks_, "pool", 3};
    multi_lock both{locks_, {"a", "b"}};
    election chief{locks_, "chief"};
    finishes([&]() -> net::awaitable<void> {
        const auto stop = source_.get_token();
        (void)co_await async_acquire(pool, 2, {.wait = 1s, .stop = source_.get_token()}, net::use_awaitable);
        (void)co_await async_try_acquire(pool, 2, {.wait = 1s, .stop = stop}, net::use_awaitable);
        (void)co_await async_acquire(both, {.wait = 1s, .stop = source_.get_token()}, net::use_awaitable);
        (void)co_await async_try_acquire(both, {.wait = 1s, .stop = stop}, net::use_awaitable);
        co_await async_campaign(chief, {.wait = 1s, .stop = source_.get_token()}, net::use_awaitable);
        EXPECT_TRUE(chief.is_leader());
        EXPECT_EQ(co_await async_resign(chief, net::use_awaitable), release_result::released);
    });
}

TEST_F(asio_braces, of_blocking_verbs_and_default_arguments_in_the_same_expression) {
    finishes([&]() -> net::awaitable<void> {
        EXPECT_EQ(co_await async_release(locks_.acquire("a"), net::use_awaitable), release_result::released);
        EXPECT_EQ(
            co_await async_release(locks_.acquire("a", {.wait = 1s, .label = long_label, .stop = source_.get_token()}),
                                   net::use_awaitable),
            release_result::released);
        EXPECT_EQ(co_await async_release(*locks_.try_acquire("a", {.label = "short"}), net::use_awaitable),
                  release_result::released);
        EXPECT_EQ(co_await async_release(shared_mutex{locks_, "b"}.acquire(), net::use_awaitable),
                  release_result::released);
        EXPECT_EQ(co_await async_release(counting_semaphore{locks_, "c", 2, {.label = long_label}}.acquire(),
                                         net::use_awaitable),
                  release_result::released);
    });
}

struct deaf : observer {
    void on_event(const event&) override {}
};

// A user's own verb, which takes the structs themselves.
net::awaitable<void> takes_a_client(client locks) {
    EXPECT_EQ(co_await async_release(locks.acquire("a"), net::use_awaitable), release_result::released);
}
net::awaitable<std::string> takes_a_claim(client& locks, claim wanted) {
    claim moved = std::move(wanted);
    const auto got = locks.try_acquire(moved.name, moved.options);
    co_return locks.try_acquire(moved.name).refusal().holder->label;
}

TEST_F(asio_braces, of_claims_and_clients_that_are_passed_on) {
    finishes([&]() -> net::awaitable<void> {
        co_await takes_a_client(client{"memory:braces"});
        const auto watcher = std::make_shared<deaf>();
        co_await takes_a_client(client{"memory:braces", {.label = long_label, .observer = watcher}});
        co_await takes_a_client(client{"memory:braces", {.observer = std::make_shared<deaf>()}});
        EXPECT_EQ(watcher.use_count(), 1) << "the observer was not let go, or was let go twice";
        EXPECT_EQ(co_await takes_a_claim(locks_, {.name = long_label, .options = {.label = long_label + "y"}}),
                  long_label + "y");
        EXPECT_EQ(co_await takes_a_claim(
                      locks_, claim{.name = "short", .options = {.label = "tiny", .stop = source_.get_token()}}),
                  "tiny");
    });
}

TEST_F(asio_braces, with_operators_and_other_tokens) {
    using namespace net::experimental::awaitable_operators;
    finishes([&]() -> net::awaitable<void> {
        net::steady_timer timer{io_, plenty};
        auto first = co_await (
            async_acquire(locks_, "a", {.label = long_label, .stop = source_.get_token()}, net::use_awaitable) ||
            timer.async_wait(net::use_awaitable));
        EXPECT_EQ(first.index(), 0u);
        auto both = co_await (async_try_acquire(locks_, "b", {.label = long_label}, net::use_awaitable) &&
                              async_acquire(locks_, "c", {.stop = source_.get_token()}, net::use_awaitable));
        EXPECT_TRUE(std::get<0>(both));
        auto [thrown, held] =
            co_await async_acquire(locks_, "d", {.wait = 1s, .label = long_label}, net::as_tuple(net::use_awaitable));
        EXPECT_FALSE(thrown);
        auto later = co_await async_try_acquire(locks_, "e", {.label = long_label}, net::deferred);
        EXPECT_TRUE(later);
    });
}

TEST_F(asio_braces, that_end_a_wait) {
    finishes([&]() -> net::awaitable<void> {
        const hold held = locks_.acquire("n");
        const attempt late = co_await async_try_acquire(locks_, "n", {.wait = 1ms}, net::use_awaitable);
        EXPECT_EQ(late.reason(), errc::timed_out);
        source_.request_stop();
        const attempt stopped = co_await async_try_acquire(
            locks_, "n", {.wait = 1h, .label = long_label, .stop = source_.get_token()}, net::use_awaitable);
        EXPECT_EQ(stopped.reason(), errc::cancelled);
        for (int n = 0; n < 2; ++n)
            if (co_await async_try_acquire(locks_, "n", {.label = long_label}, net::use_awaitable))
                ADD_FAILURE() << "acquired what is held";
    });
}

}  // namespace
}  // namespace mortise::testing
