// Where locks of one's own making would wait for each other: an answer, never a hang. For threads of one client, for clients
// and for processes.
#include "conformance/suite.hpp"
#include "support/children.hpp"
#include "support/shared_page.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/shared_mutex.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class no_hang : public store_suite {
protected:
    using part = std::function<bool(client&)>;
    enum class parties { threads, clients, processes };
    static constexpr std::array every_party{parties::threads, parties::clients, parties::processes};

    // What the parties agree on; a page for each round, as processes see no other memory.
    struct agreement {
        std::atomic<int> stage{0};
        std::atomic<int> finished{0};
        std::atomic<int> readers{0};
    };

    // All play their parts at the same time; true if each was content.
    bool play(parties among, const std::vector<part>& all) {
        if (among == parties::processes) {
            std::vector<child> cast;
            for (const part& one : all)
                cast.emplace_back([&] {
                    client own = make_client();
                    return one(own) ? 0 : 1;
                });
            bool good = true;
            for (child& one : cast) good = one.wait(60s) == 0 && good;
            return good;
        }
        client shared = make_client();
        std::atomic<int> content{0};
        std::vector<std::jthread> cast;
        for (const part& one : all)
            cast.emplace_back([&] {
                client own = make_client();
                content += one(among == parties::threads ? shared : own) ? 1 : 0;
            });
        cast.clear();
        return content == static_cast<int>(all.size());
    }
    bool able(parties among) const { return among != parties::processes || GetParam().store->spans_processes(); }
    static bool await(const std::atomic<int>& stage, int at_least) {
        return eventually([&] { return stage >= at_least; }, plenty);
    }
};
EVERY_STORE(no_hang);

TEST_P(no_hang, two_readers_that_upgrade_are_both_told_so) {
    if (!can().upgrades) GTEST_SKIP() << "the store does not promise upgrades";
    for (const parties among : every_party) {
        if (!able(among)) continue;
        const shared_page<agreement> page;
        const part reader = [&](client& locks) {
            shared_mutex lock{locks, "n"};
            if (!lock.try_lock_shared_for(plenty)) return false;
            ++page->readers;
            const bool both = await(page->readers, 2);
            std::error_code ec;
            lock.upgrade(ec);
            ++page->finished;
            const bool kept = await(page->finished, 2) && lock.hold().valid();
            lock.unlock_shared();
            return both && kept && ec == errc::would_deadlock;
        };
        EXPECT_TRUE(play(among, {reader, reader})) << static_cast<int>(among);
    }
}

TEST_P(no_hang, two_upgradeable_readers_come_one_after_the_other) {
    if (!can().upgrades) GTEST_SKIP() << "the store does not promise upgrades";
    for (const parties among : every_party) {
        if (!able(among)) continue;
        const part upgrader = [&](client& locks) {
            shared_mutex lock{locks, "n"};
            for (int i = 0; i < 20; ++i) {
                if (!lock.try_lock_upgradeable_for(plenty)) return false;
                std::this_thread::yield();
                if (!lock.try_upgrade_for(plenty)) return false;
                lock.unlock();
            }
            return true;
        };
        EXPECT_TRUE(play(among, {upgrader, upgrader, upgrader})) << static_cast<int>(among);
    }
}

TEST_P(no_hang, an_upgrader_goes_before_a_writer_that_waits) {
    if (!can().fifo) GTEST_SKIP() << no_line;
    if (!can().upgrades) GTEST_SKIP() << "the store does not promise upgrades";
    enum : int { nothing, upgradeable, reading, writer_waits };
    for (const parties among : every_party) {
        if (!able(among)) continue;
        const shared_page<agreement> page;
        const part upgrader = [&](client& locks) {
            shared_mutex lock{locks, "n"};
            if (!lock.try_lock_upgradeable_for(plenty)) return false;
            page->stage = upgradeable;
            const bool up = await(page->stage, writer_waits) && lock.try_upgrade_for(plenty);
            if (!up) return false;
            const bool first = ++page->finished == 1;
            lock.unlock();
            return first;
        };
        const part reader = [&](client& locks) {
            shared_mutex lock{locks, "n"};
            if (!await(page->stage, upgradeable) || !lock.try_lock_shared_for(plenty)) return false;
            page->stage = reading;
            // While nobody waits another reader gets in.
            bool somebody_waits = false;
            std::thread{[&] {
                shared_mutex another{locks, "n"};
                somebody_waits =
                    eventually([&] { return !another.try_lock_shared() || (another.unlock_shared(), false); }, plenty);
            }}.join();
            page->stage = writer_waits;
            std::this_thread::sleep_for(20ms);
            lock.unlock_shared();
            return somebody_waits;
        };
        const part writer = [&](client& locks) {
            shared_mutex lock{locks, "n"};
            if (!await(page->stage, reading) || !lock.try_lock_for(plenty)) return false;
            const bool second = ++page->finished == 2;
            lock.unlock();
            return second;
        };
        EXPECT_TRUE(play(among, {upgrader, reader, writer})) << static_cast<int>(among);
    }
}

TEST_P(no_hang, crossed_multi_locks_all_come_to_an_end) {
    for (const parties among : every_party) {
        if (!able(among)) continue;
        const std::uint64_t times = rounds(50);
        const auto taking = [&](std::string one, std::string other) -> part {
            return [=](client& locks) {
                multi_lock both{locks, {one, other}};
                for (std::uint64_t i = 0; i < times; ++i) {
                    if (!both.try_lock_for(plenty)) return false;
                    both.unlock();
                }
                return true;
            };
        };
        EXPECT_TRUE(play(among, {taking("a", "b"), taking("b", "a")})) << static_cast<int>(among);
        EXPECT_TRUE(play(among, {taking("a", "b"), taking("b", "c"), taking("c", "a")})) << static_cast<int>(among);
    }
}

}  // namespace
}  // namespace mortise::testing
