// P6: order::fifo is first come, first served, or a refusal.
#include "conformance/suite.hpp"
#include "support/recording_observer.hpp"

#include <mortise/error.hpp>

#include <deque>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class fifo : public lock_suite {
protected:
    const claim_options in_order{.order = order::fifo};
};
EVERY_STORE_AND_KIND(fifo);

TEST_P(fifo, waiters_of_several_clients_are_served_in_the_order_they_came) {
    const auto seen = std::make_shared<recording_observer>();
    std::deque<client> locks;
    for (int c = 0; c < 3; ++c) locks.push_back(make_client({.observer = seen}));
    if (!locks[0].promises().fifo) {
        EXPECT_THROW(make_lock(locks[0], "n", in_order), error);
        return;
    }
    const auto gate = make_lock(locks[0], "n", in_order);
    gate->lock();

    constexpr int crowd = 9;
    std::vector<int> served;  // guarded by the lock under test
    std::vector<std::jthread> waiters;
    for (int w = 0; w < crowd; ++w) {
        waiters.emplace_back([&, w] {
            const auto mine = make_lock(locks[static_cast<std::size_t>(w) % 3], "n", in_order);
            std::scoped_lock guard{*mine};
            served.push_back(w);
        });
        ASSERT_TRUE(seen->wait_for(event_kind::waited, static_cast<std::size_t>(w) + 1, plenty)) << w;
    }
    gate->unlock();
    waiters.clear();

    std::vector<int> as_they_came(crowd);
    std::iota(as_they_came.begin(), as_they_came.end(), 0);
    EXPECT_EQ(served, as_they_came);
}

TEST_P(fifo, one_that_gave_up_does_not_hold_up_those_behind) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client({.observer = seen});
    client others = make_client({.observer = seen});
    if (!locks.promises().fifo) GTEST_SKIP() << "not promised, and refused (see above)";
    const auto gate = make_lock(locks, "n", in_order);
    gate->lock();
    std::stop_source stop;
    std::error_code first_said;
    std::jthread first{[&] {
        auto options = in_order;
        options.stop = stop.get_token();
        make_lock(others, "n", options)->lock(first_said);
    }};
    ASSERT_TRUE(seen->wait_for(event_kind::waited, 1, plenty));
    bool second_got = false;
    std::jthread second{[&] {
        const auto mine = make_lock(others, "n", in_order);
        second_got = mine->try_lock_for(plenty);
    }};
    ASSERT_TRUE(seen->wait_for(event_kind::waited, 2, plenty));
    stop.request_stop();
    first.join();
    gate->unlock();
    second.join();
    EXPECT_EQ(first_said, errc::cancelled);
    EXPECT_TRUE(second_got);
}

TEST_P(fifo, a_demand_that_is_not_promised_is_refused_by_name) {
    client locks = make_client();
    if (locks.promises().fifo) {
        EXPECT_NO_THROW(make_lock(locks, "n", in_order));
        return;
    }
    try {
        make_lock(locks, "n", in_order);
        ADD_FAILURE() << "order::fifo was accepted without being promised";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unsupported);
        EXPECT_NE(std::string(e.what()).find("fifo"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace mortise::testing
