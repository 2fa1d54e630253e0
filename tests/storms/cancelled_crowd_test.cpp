// Ten thousand waiters of one client that give up at once: the lock goes to whoever still wants it, soon, and the store answers
// others meanwhile.
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/fixture.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto waits_at_most = 5min;

struct place {
    spi::fixture* store;
    friend void PrintTo(const place& p, std::ostream* out) { *out << p.store->store(); }
};

std::vector<place> every_place() {
    static const auto all = spi::plain_fixtures();
    std::vector<place> places;
    for (const auto& one : all) places.push_back({one.get()});
    return places;
}

// Fewer for every day where each wait is several trips to a server.
std::uint64_t size_of_crowd(const spi::fixture& store) {
    const bool quick = store.frees_the_dead_after() <= 100ms;
    const bool in_full = std::getenv("MORTISE_STORMS_IN_FULL") != nullptr;
    return scale(quick || in_full ? 10'000 : 5'000);
}

class counter final : public observer {
public:
    void on_event(const event& seen) override {
        if (seen.kind == event_kind::waited) ++waited;
    }
    std::atomic<std::uint64_t> waited{0};
};

class cancelled_crowd : public ::testing::TestWithParam<place> {};

TEST_P(cancelled_crowd, makes_way_for_another) {
    const std::uint64_t crowd = size_of_crowd(*GetParam().store);
    const std::string url = GetParam().store->fresh_url();
    const auto seen = std::make_shared<counter>();
    client holds{url};
    client waits{url, {.patience = waits_at_most, .observer = seen}};  // the last one's answer comes after all others
    client wants{url, {.patience = 60s}};
    client looks{url};
    hold first = holds.acquire("door");

    // All of it may be told after the client has gone.
    const auto cancelled = std::make_shared<std::atomic<std::uint64_t>>(0);
    const auto answered = std::make_shared<std::atomic<std::uint64_t>>(0);
    std::stop_source tired;
    for (std::uint64_t n = 0; n < crowd; ++n)
        waits.start({.name = "door", .options = {.order = order::fifo, .stop = tired.get_token()}},
                    [cancelled, answered](const attempt& got) {
                        if (got.reason() == errc::cancelled) ++*cancelled;
                        ++*answered;
                    });
    ASSERT_TRUE(eventually([&] { return seen->waited.load() == crowd; }, waits_at_most))
        << seen->waited.load() << " of " << crowd << " wait";

    const auto began = std::chrono::steady_clock::now();
    const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
    tired.request_stop();
    std::error_code ec;
    // A busy machine may take longer than the store's own timeout: then it is asked again.
    const auto listed_at_last = [&] {
        static_cast<void>(looks.list(ec));
        return !ec;
    };
    EXPECT_TRUE(eventually(listed_at_last, 15s)) << "list: " << ec.message();
    const double listed = since();
    first.release();
    const attempt got = wants.try_acquire("door", {.wait = 60s});
    const double taken = since();
    EXPECT_TRUE(got) << got.refusal().describe();
    EXPECT_LT(taken, 20.0) << "seconds until another has the lock";
    EXPECT_TRUE(eventually([&] { return answered->load() == crowd; }, 60s));
    EXPECT_EQ(cancelled->load(), crowd);
    EXPECT_TRUE(eventually(
        [&] {
            const auto all = looks.list(ec);
            return !ec && all.size() == 1 && all.front().waiting == 0;
        },
        60s))
        << "somebody is still in line";
    std::cout << "cancelled crowd: store=" << GetParam().store->store() << " waiters=" << crowd
              << " listed_after_s=" << listed << " another_has_it_after_s=" << taken
              << " nobody_left_after_s=" << since() << "\n";
}

INSTANTIATE_TEST_SUITE_P(every_store, cancelled_crowd, ::testing::ValuesIn(every_place()),
                         [](const auto& one) { return std::string(one.param.store->store()); });

}  // namespace
}  // namespace mortise::testing
