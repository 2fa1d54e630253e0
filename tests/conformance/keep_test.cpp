// A lock that its client keeps while it is idle is a lock like any other: whoever else asks gets it.
#include "conformance/suite.hpp"
#include "support/recording_observer.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// So long that no test sees the end of it: what is had before is had because the keeper was told.
claim_options kept_long() {
    return {.lease = 10min, .keep = keep::idle(60s)};
}

class kept : public store_suite {
protected:
    void SetUp() override {
        if (IsSkipped()) return;
        if (refused()) {
            EXPECT_THROW(mutex(mine_, "n", {.keep = keep::idle()}), error);
        }
    }
    // A store that tells nobody that others ask: it refuses to keep, which is all that there is to see.
    bool refused() const { return !can().keeps; }
    // In the same memory reads ask the store.
    bool keeps_reads() const {
        const std::string store = can().store;
        return store == "redis" || store == "postgres" || store == "etcd" || store == "zookeeper";
    }
    token once(mutex& m) const {
        const std::scoped_lock guard{m};
        EXPECT_TRUE(m.hold().valid());
        return token_of(m.hold());
    }
    static void read(shared_mutex& m) {
        const std::shared_lock reading{m};
        EXPECT_TRUE(m.hold().valid());
    }
    // Of so many locks, not each asks the store. A grant that is renewed is not kept, so on a busy machine there are some.
    static constexpr int times = 50;
    static constexpr std::size_t few = times / 2;
    bool somebody_waits(std::size_t how_many = 1) const {
        return seen_->wait_for(event_kind::waited, how_many, plenty);
    }

    const std::shared_ptr<recording_observer> seen_ = std::make_shared<recording_observer>();
    client mine_ = make_client({.observer = seen_});
    client other_ = make_client({.observer = seen_});
};
EVERY_STORE(kept);

TEST_P(kept, is_taken_again_with_a_later_token) {
    if (refused()) return;
    mutex m{mine_, "n", kept_long()};
    token latest = once(m);
    for (int i = 0; i < 100; ++i) {
        const token next = once(m);
        expect_later(next, latest);
        latest = next;
    }
}

TEST_P(kept, goes_at_once_to_whoever_waits) {
    if (refused()) return;
    mutex m{mine_, "n", kept_long()};
    const token first = once(m);
    attempt theirs = other_.try_acquire("n", {.wait = plenty});
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    expect_later(token_of(*theirs), first);
    EXPECT_FALSE(m.try_lock());
}

TEST_P(kept, goes_to_who_asks_again_and_again) {
    if (refused()) return;
    mutex m{mine_, "n", kept_long()};
    once(m);
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(other_.try_acquire("n")); }));
}

TEST_P(kept, goes_to_a_reader) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    shared_mutex ours{mine_, "n", kept_long()};
    ours.lock();
    ours.unlock();
    shared_mutex theirs{other_, "n"};
    EXPECT_TRUE(theirs.try_lock_shared_for(plenty));
    theirs.unlock_shared();
}

TEST_P(kept, in_use_goes_with_its_next_unlock) {
    if (refused()) return;
    mutex m{mine_, "n", kept_long()};
    once(m);
    m.lock();
    auto waits = std::async(std::launch::async, [&] { return other_.try_acquire("n", {.wait = plenty}); });
    EXPECT_TRUE(somebody_waits());
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
    EXPECT_TRUE(waits.get());
}

TEST_P(kept, that_was_in_line_is_not_kept_from_those_behind) {
    if (refused()) return;
    hold theirs = other_.acquire("n");
    mutex m{mine_, "n", kept_long()};
    std::jthread waits{[&] { once(m); }};
    EXPECT_TRUE(somebody_waits());
    std::jthread behind{[&] {
        const attempt got = other_.try_acquire("n", {.wait = plenty, .hand_over = hand_over::off});
        EXPECT_TRUE(got);
    }};
    EXPECT_TRUE(somebody_waits(2));
    theirs.release();
}

TEST_P(kept, read_goes_to_a_writer) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    shared_mutex ours{mine_, "n", kept_long()};
    shared_mutex theirs{other_, "n", kept_long()};
    for (int i = 0; i < 3; ++i) {
        read(ours);
        read(theirs);
    }
    attempt written = theirs.try_acquire({.wait = plenty});  // its own client's, too
    ASSERT_TRUE(written) << written.refusal().describe();
    EXPECT_TRUE(written->valid());
    EXPECT_FALSE(ours.try_lock_shared());
    EXPECT_FALSE(theirs.try_lock_shared());
}

TEST_P(kept, read_goes_to_who_asks_again_and_again) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    shared_mutex ours{mine_, "n", kept_long()};
    shared_mutex theirs{other_, "n"};
    read(ours);
    read(ours);
    EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }));
    theirs.unlock();
}

TEST_P(kept, read_stays_though_others_read) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    if (!keeps_reads()) return;
    shared_mutex ours{mine_, "n", kept_long()};
    shared_mutex theirs{other_, "n"};
    read(ours);
    const auto counter = [&] {
        const std::shared_lock reading{ours};
        return ours.hold().token().counter();
    };
    std::set<std::uint64_t> grants;
    for (int i = 0; i < times; ++i) {
        EXPECT_TRUE(theirs.try_lock_shared());
        theirs.unlock_shared();
        EXPECT_TRUE(theirs.try_lock_shared_for(plenty));
        theirs.unlock_shared();
        grants.insert(counter());
    }
    EXPECT_LT(grants.size(), few);
}

TEST_P(kept, reads_of_several_clients_stay) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    if (!keeps_reads()) return;
    shared_mutex ours{mine_, "n", kept_long()};
    shared_mutex theirs{other_, "n", kept_long()};
    const auto counter = [](shared_mutex& m) {
        const std::shared_lock reading{m};
        return m.hold().token().counter();
    };
    std::set<std::uint64_t> grants;
    for (int i = 0; i < times; ++i) {
        grants.insert(counter(ours));
        grants.insert(counter(theirs));
    }
    EXPECT_LT(grants.size(), few);
}

TEST_P(kept, read_in_use_goes_with_its_next_unlock) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    shared_mutex ours{mine_, "n", kept_long()};
    read(ours);
    ours.lock_shared();
    shared_mutex theirs{other_, "n"};
    auto waits = std::async(std::launch::async, [&] { return theirs.try_acquire({.wait = plenty}); });
    EXPECT_TRUE(somebody_waits());
    EXPECT_TRUE(ours.hold().valid());
    ours.unlock_shared();
    EXPECT_TRUE(waits.get());
}

TEST_P(kept, readers_and_writers_exclude_each_other) {
    if (refused()) return;
    if (can().most_capacity == 1) GTEST_SKIP() << "the store has exclusive locks only";
    const claim_options brief{.keep = keep::idle(2ms)};
    shared_mutex ours{mine_, "n", brief};
    shared_mutex theirs{other_, "n", brief};
    std::atomic<int> reading{0};
    std::atomic<int> writing{0};
    std::atomic<int> wrong{0};
    const auto turns = static_cast<int>(rounds(200));
    const auto work = [&](shared_mutex& m, int first) {
        for (int i = first; i < turns + first; ++i) {
            if (i % 40 == 0) {
                const std::scoped_lock guard{m};
                if (writing.fetch_add(1) != 0 || reading != 0) ++wrong;
                writing.fetch_sub(1);
            } else {
                const std::shared_lock guard{m};
                reading.fetch_add(1);
                if (writing != 0) ++wrong;
                reading.fetch_sub(1);
            }
            if (i % 50 == 0) std::this_thread::sleep_for(3ms);  // longer than it is kept
        }
    };
    {
        std::vector<std::jthread> all;
        for (int n = 0; n < 4; ++n) all.emplace_back([&, n] { work(n % 2 == 0 ? ours : theirs, n * 7); });
    }
    EXPECT_EQ(wrong, 0);
}

TEST_P(kept, ends_with_its_lock_and_its_client) {
    if (refused()) return;
    {
        mutex m{mine_, "n", kept_long()};
        once(m);
    }
    EXPECT_TRUE(other_.try_acquire("n", {.wait = plenty}));
    client brief = make_client();
    mutex m{brief, "n", kept_long()};
    once(m);
    { const client gone = std::move(brief); }
    EXPECT_TRUE(other_.try_acquire("n", {.wait = plenty}));
}

TEST_P(kept, excludes_threads_and_clients) {
    if (refused()) return;
    std::uint64_t count = 0;
    token latest;
    std::atomic<int> inside{0};
    std::atomic<int> wrong{0};
    const claim_options brief{.keep = keep::idle(2ms)};
    mutex shared_by_two{mine_, "n", brief};
    const auto turns = static_cast<int>(rounds(300));
    const auto work = [&](mutex& m, int pauses) {
        for (int i = 0; i < turns; ++i) {
            {
                const std::scoped_lock guard{m};
                if (inside.fetch_add(1) != 0) ++wrong;
                std::error_code untold;
                const token mine = m.hold().token(untold);
                if (!untold && mine <= latest) ++wrong;
                latest = mine;
                ++count;
                inside.fetch_sub(1);
            }
            if (i % pauses == 0) std::this_thread::sleep_for(std::chrono::milliseconds{i / 5});  // others are alone
        }
    };
    {
        std::vector<std::jthread> all;
        for (int n = 0; n < 2; ++n) all.emplace_back([&] { work(shared_by_two, 100); });
        all.emplace_back([&] {
            mutex own{other_, "n", brief};
            work(own, 50);
        });
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(count, static_cast<std::uint64_t>(3 * turns));
}

}  // namespace
}  // namespace mortise::testing
