// Cancellation at every point where a coroutine waits. Afterwards nobody holds and nobody waits.
#include "asio/suite.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

namespace mortise::testing {
namespace {

class asio_cancel : public asio_suite {
protected:
    std::size_t waiting(std::string_view name) {
        for (const held_lock& one : others_.list())
            if (one.name == name) return one.waiting;
        return 0;
    }
};
EVERY_PLAIN_STORE(asio_cancel);

// One call that waits for "n", which somebody holds. Told of its answer by `told`: none if it was granted.
using told = std::function<void(std::optional<std::error_code>)>;

std::error_code code_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const error& e) {
        return e.code();
    } catch (const boost::system::system_error& e) {  // Asio's own: a co_await after the cancellation
        return e.code() == net::error::operation_aborted ? make_error_code(errc::cancelled) : std::error_code{e.code()};
    }
}

struct named_call {
    const char* name;
    std::function<void(net::io_context&, client&, net::cancellation_slot, told)> begin;
};

// A handler for any of the signatures. It owns what was granted until it has told of it.
auto handler(net::io_context& io, net::cancellation_slot slot, told tell) {
    return net::bind_cancellation_slot(
        slot, net::bind_executor(io, [tell = std::move(tell)](std::exception_ptr thrown, const auto&... granted) {
            static_cast<void>((static_cast<bool>(granted), ...));
            tell(thrown ? std::optional{code_of(thrown)} : std::nullopt);
        }));
}

const std::vector<named_call>& calls() {
    static const std::vector<named_call> all{
        {"client", [](net::io_context& io, client& locks, net::cancellation_slot slot,
                      told tell) { async_acquire(locks, "n", handler(io, slot, std::move(tell))); }},
        {"several names",
         [](net::io_context& io, client& locks, net::cancellation_slot slot, told tell) {
             multi_lock both{locks, {"m", "n"}};  // it need not outlive the call
             async_acquire(both, handler(io, slot, std::move(tell)));
         }},
        {"one permit of one",
         [](net::io_context& io, client& locks, net::cancellation_slot slot, told tell) {
             counting_semaphore pool{locks, "n", 1};
             async_acquire(pool, handler(io, slot, std::move(tell)));
         }},
        {"election",
         [](net::io_context& io, client& locks, net::cancellation_slot slot, told tell) {
             const auto chief = std::make_shared<election>(locks, "n");
             async_campaign(*chief, handler(io, slot, [chief, tell = std::move(tell)](auto why) {
                 chief->resign();
                 tell(why);
             }));
         }},
    };
    return all;
}

TEST_P(asio_cancel, of_every_type_ends_a_wait_and_leaves_no_waiter) {
    for (const named_call& call : calls()) {
        for (const auto type :
             {net::cancellation_type::terminal, net::cancellation_type::partial, net::cancellation_type::total}) {
            SCOPED_TRACE(call.name);
            const hold held = others_.acquire("n");
            net::cancellation_signal signal;
            std::vector<std::optional<std::error_code>> answers;
            call.begin(io_, locks_, signal.slot(), [&](auto why) { answers.push_back(why); });
            EXPECT_TRUE(eventually([&] { return waiting("n") == 1; }));
            io_.poll();
            EXPECT_TRUE(answers.empty());
            signal.emit(type);
            EXPECT_TRUE(answers.empty()) << "the handler ran inside the emission";
            run(io_);
            ASSERT_EQ(answers.size(), 1u);
            EXPECT_EQ(answers.front(), std::optional{make_error_code(errc::cancelled)});
            EXPECT_TRUE(eventually([&] { return waiting("n") == 0; }));  // a server hears of it a little later
            EXPECT_EQ(others_.list().size(), 1u) << "only ours";
        }
    }
}

TEST_P(asio_cancel, right_after_the_call_or_after_the_grant_has_one_clear_answer) {
    for (const named_call& call : calls()) {
        SCOPED_TRACE(call.name);
        net::cancellation_signal signal;
        int granted = 0;
        int cancelled = 0;
        const auto tell = [&](std::optional<std::error_code> why) {
            ++(why ? cancelled : granted);
            EXPECT_EQ(why.value_or(errc::cancelled), errc::cancelled);
        };
        call.begin(io_, locks_, signal.slot(), tell);
        signal.emit(net::cancellation_type::terminal);
        run(io_);
        EXPECT_EQ(granted + cancelled, 1);

        call.begin(io_, locks_, signal.slot(), tell);
        run(io_);
        EXPECT_EQ(granted + cancelled, 2);
        signal.emit(net::cancellation_type::terminal);  // nobody listens any more
        run(io_);
        EXPECT_EQ(granted + cancelled, 2);
        EXPECT_TRUE(eventually([&] { return empty(); }));
    }
}

TEST_P(asio_cancel, that_races_with_the_grant_has_one_clear_answer) {
    for (const named_call& call : calls()) {
        SCOPED_TRACE(call.name);
        for (int round = 0; round < 40; ++round) {
            hold held = others_.acquire("n");
            net::cancellation_signal signal;
            int answers = 0;
            call.begin(io_, locks_, signal.slot(), [&](std::optional<std::error_code> why) {
                ++answers;
                EXPECT_EQ(why.value_or(errc::cancelled), errc::cancelled);
            });
            std::atomic<bool> go{false};
            std::jthread releases{[&] {
                go.wait(false);
                held.release();
            }};
            go = true;
            go.notify_one();
            for (int spin = 0; spin < round * 100; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
            signal.emit(net::cancellation_type::terminal);
            run(io_);
            releases.join();
            EXPECT_EQ(answers, 1);
        }
        EXPECT_TRUE(eventually([&] { return empty(); }));
    }
}

TEST_P(asio_cancel, by_the_options_stop_works_beside_the_slot) {
    const hold held = others_.acquire("n");
    counting_semaphore pool{others_, "pool", 1};
    const hold all = pool.acquire();
    std::stop_source stop;
    net::cancellation_signal signal;
    std::vector<std::error_code> reasons;
    const auto take = [&](const attempt& got) { reasons.push_back(got.reason()); };
    async_try_acquire(locks_, "n", {.wait = plenty, .stop = stop.get_token()},
                      net::bind_cancellation_slot(signal.slot(), net::bind_executor(io_, take)));
    async_try_acquire(pool, 1, {.wait = plenty, .stop = stop.get_token()}, net::bind_executor(io_, take));
    EXPECT_TRUE(eventually([&] { return waiting("n") + waiting("pool") == 2; }));
    stop.request_stop();
    run(io_);
    EXPECT_EQ(reasons, (std::vector<std::error_code>{errc::cancelled, errc::cancelled}));
    EXPECT_TRUE(eventually([&] { return waiting("n") + waiting("pool") == 0; }));
}

// Waits at every kind of lock, one after the other.
net::awaitable<void> a_long_day(client& locks) {
    const auto use = net::use_awaitable;
    hold one = co_await async_acquire(locks, "one", use);
    shared_mutex shared{locks, "shared"};
    hold step = co_await async_acquire_upgradeable(shared, use);
    if (locks.promises().upgrades) {
        step = co_await async_upgrade(shared, step, use);
        step = co_await async_downgrade(shared, step, use);
        step = co_await async_downgrade_to_shared(shared, step, use);
    }
    counting_semaphore pool{locks, "pool", 2};
    const hold two = co_await async_acquire(pool, 2, use);
    multi_lock both{locks, {"a", "b"}};
    multi_hold all = co_await async_acquire(both, use);
    election chief{locks, "chief"};
    co_await async_campaign(chief, use);
    co_await async_list(locks, use);
    co_await async_resign(chief, use);
    co_await async_release(std::move(all), use);
    co_await async_release(std::move(one), use);
}

// Lets the coroutine take k steps and cancels it; for every k, until it is through before its turn to be cancelled comes.
void cancel_after_every_step(net::io_context& io, client& locks, const std::function<void()>& afterwards) {
    bool through = false;
    for (int k = 0; !through; ++k) {
        ASSERT_LT(k, 1000) << "it never gets through";
        net::cancellation_signal signal;
        bool ended = false;
        std::exception_ptr thrown;
        net::co_spawn(io, a_long_day(locks), net::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                          ended = true;
                          thrown = e;
                      }));
        io.restart();
        for (int step = 0; step < k && !ended; ++step) io.run_one_for(plenty);
        through = ended;
        signal.emit(net::cancellation_type::terminal);
        run(io);
        ASSERT_TRUE(ended) << "cancelled after step " << k;
        if (through) {
            EXPECT_FALSE(thrown);
        } else if (thrown) {
            EXPECT_TRUE(code_of(thrown) == errc::cancelled) << code_of(thrown).message();
        }
        afterwards();
    }
}

TEST_P(asio_cancel, after_every_step_of_a_coroutine_leaves_nothing) {
    cancel_after_every_step(io_, locks_, [&] { EXPECT_TRUE(eventually([&] { return empty(); })); });
}

TEST_P(asio_cancel, after_every_step_beside_somebody_who_wants_the_same_leaves_nothing) {
    std::jthread rival{[&](const std::stop_token& end) {
        shared_mutex shared{others_, "shared"};
        counting_semaphore pool{others_, "pool", 2};
        while (!end.stop_requested()) {
            for (const char* name : {"one", "a", "b", "chief"}) {
                const auto brief = others_.try_acquire(name);
                std::this_thread::sleep_for(200us);
            }
            const attempt reading = shared.try_acquire_shared();
            const attempt permit = pool.try_acquire();
            std::this_thread::sleep_for(200us);
        }
    }};
    cancel_after_every_step(io_, locks_, [] {});
    rival.request_stop();
    rival.join();
    EXPECT_TRUE(eventually([&] { return empty(); }));
}

TEST_P(asio_cancel, of_half_of_ten_thousand_coroutines_leaves_the_others_in_line) {
    const std::size_t crowd = scale(10'000);
    hold closed = others_.acquire("n");
    std::vector<std::unique_ptr<net::cancellation_signal>> signals;
    std::vector<int> grants(crowd);
    std::vector<int> cancels(crowd);
    int inside = 0;
    const auto visit = [&](std::size_t who) -> net::awaitable<void> {
        hold mine;
        try {
            mine = co_await async_acquire(locks_, "n", net::use_awaitable);
        } catch (const error& e) {
            if (e.code() == errc::cancelled) ++cancels[who];
            co_return;
        }
        EXPECT_EQ(++inside, 1);
        ++grants[who];
        co_await net::post(io_, net::use_awaitable);  // others have their chance to come in
        --inside;
        co_await async_release(std::move(mine), net::use_awaitable);
    };
    for (std::size_t who = 0; who < crowd; ++who) {
        signals.push_back(std::make_unique<net::cancellation_signal>());
        net::co_spawn(io_, visit(who), net::bind_cancellation_slot(signals.back()->slot(), [](std::exception_ptr) {}));
    }
    io_.restart();
    io_.poll();
    for (std::size_t who = 1; who < crowd; who += 2) signals[who]->emit(net::cancellation_type::terminal);
    io_.poll();  // a coroutine hears of it on its executor
    closed.release();
    io_.restart();
    io_.run_for(10 * plenty);
    EXPECT_TRUE(io_.stopped());
    for (std::size_t who = 0; who < crowd; ++who) {
        ASSERT_EQ(grants[who], who % 2 == 0 ? 1 : 0) << who;
        ASSERT_EQ(cancels[who], who % 2 == 0 ? 0 : 1) << who;
    }
    EXPECT_TRUE(eventually([&] { return empty(); }));
}

}  // namespace
}  // namespace mortise::testing
