// A hot key that is cold: 200 callers in 8 processes (C5).
#include "patterns/fleet.hpp"
#include "support/shared_page.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/patterns/single_flight.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class hot_key : public on_host_and_redis {
protected:
    static constexpr int processes = 8;
    static constexpr int threads = 25;

    struct counts {
        std::atomic<int> ready;
        std::atomic<int> backend_calls;
        std::atomic<int> right;
        std::atomic<int> wrong;
    };
    const shared_page<counts> seen{};

    // All at once: each process asks for the key with all its threads, and calls `rebuild` if it is to rebuild.
    template <class Get>
    bool ask_together(Get get, std::chrono::milliseconds nap = 0s) {
        crew all{processes,
                 [&](int) {
                     client locks{url()};
                     const std::unique_ptr<fenced_storage> cache{data_server::open(prefix())};
                     flight_options how{.rebuild_within = 2s};
                     cached<std::string> values{locks, *cache, "values", how};
                     in_threads(threads, [&](int) {
                         ++seen->ready;
                         while (seen->ready < processes * threads) std::this_thread::yield();
                         const std::optional<std::string> got = get(values, *cache);
                         ++(got == "right" ? seen->right : seen->wrong);
                     });
                     return 0;
                 },
                 nap};
        const bool well = all.finish();
        deaths_ = all.deaths();
        stops_ = all.stops();
        return well;
    }
    int deaths_ = 0;
    int stops_ = 0;
};
INSTANTIATE_TEST_SUITE_P(locks_on, hot_key, ::testing::Values("host", "redis"),
                         [](const auto& which) { return std::string(which.param); });

TEST_P(hot_key, is_rebuilt_once_for_all) {
    EXPECT_TRUE(ask_together([&](cached<std::string>& values, fenced_storage&) {
        return values.get("hot", [&] {
            ++seen->backend_calls;
            std::this_thread::sleep_for(50ms);
            return std::optional<std::string>{"right"};
        });
    }));
    EXPECT_EQ(seen->backend_calls, 1);
    EXPECT_EQ(seen->right, processes * threads);
}

// The replacement starts its threads anew, so more than 200 ask; the backend is called once more.
TEST_P(hot_key, is_rebuilt_once_more_for_each_rebuilder_that_dies) {
    EXPECT_TRUE(ask_together([&](cached<std::string>& values, fenced_storage&) {
        return values.get("hot", [&] {
            if (++seen->backend_calls <= 2) ::kill(::getpid(), SIGKILL);
            return std::optional<std::string>{"right"};
        });
    }));
    EXPECT_EQ(deaths_, 2);
    EXPECT_EQ(seen->backend_calls, 3);
    EXPECT_EQ(seen->wrong, 0);
}

TEST_P(hot_key, is_taken_over_from_one_that_stands_still) {
    EXPECT_TRUE(ask_together(
        [&](cached<std::string>& values, fenced_storage&) {
            return values.get("hot", [&] {
                const bool first = ++seen->backend_calls == 1;
                if (first) ::raise(SIGSTOP);
                return std::optional<std::string>{first ? "late" : "right"};
            });
        },
        3s));
    EXPECT_EQ(stops_, 1);
    EXPECT_EQ(seen->backend_calls, 2);
    EXPECT_EQ(seen->wrong, 0) << "the late value was stored or returned";
    EXPECT_EQ(std::unique_ptr<fenced_storage>(data_server::open(prefix()))->read("hot")->bytes, "+right");
}

// How long callers wait beyond the rebuild, beside as many threads that one notify_all wakes. Printed, not judged. Both do it
// twice, and the second time counts: the key is cold, not the processes and the server. Threads that end are no part of it.
TEST_P(hot_key, wakes_all_who_waited) {
    struct times {
        std::atomic<std::int64_t> told;
        std::array<std::atomic<std::int64_t>, processes * threads> waited;
        std::atomic<std::size_t> asked;
        std::atomic<std::size_t> count;

        static std::int64_t now() { return boot_clock::now().time_since_epoch().count(); }
        void note() {
            waited[count++ % waited.size()] = now() - told;
            while (count % waited.size() != 0) std::this_thread::sleep_for(50ms);
        }
        double late() const {
            std::vector<std::int64_t> all(waited.begin(), waited.end());
            std::ranges::sort(all);
            return static_cast<double>(all[all.size() * 99 / 100]) / 1e6;
        }
    };
    const shared_page<times> ours{};
    EXPECT_TRUE(ask_together([&](cached<std::string>& values, fenced_storage&) {
        std::optional<std::string> got;
        for (const std::size_t round : {1, 2}) {
            ++ours->asked;
            while (ours->asked < round * processes * threads) std::this_thread::yield();
            got = values.get("hot" + std::to_string(round), [&] {
                std::this_thread::sleep_for(300ms);
                ours->told = times::now();
                return std::optional<std::string>{"right"};
            });
            ours->note();
        }
        return got;
    }));

    times local{};
    std::mutex mutex;
    std::condition_variable woken;
    std::size_t rounds = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < processes * threads; ++i)
            all.emplace_back([&] {
                for (const std::size_t round : {1, 2}) {
                    std::unique_lock waiting{mutex};
                    ++local.asked;
                    woken.wait(waiting, [&] { return rounds >= round; });
                    waiting.unlock();
                    local.note();
                }
            });
        for (const std::size_t round : {1, 2}) {
            EXPECT_TRUE(eventually([&] { return local.asked == round * processes * threads; }));
            std::this_thread::sleep_for(300ms);
            const std::scoped_lock alone{mutex};
            rounds = round;
            local.told = times::now();
            woken.notify_all();
        }
    }
    std::cout << "p99 beyond the rebuild: " << ours->late() << " ms; of a local notify_all: " << local.late()
              << " ms; ratio " << ours->late() / local.late() << "\n";
}

// The form that the document prints: it looks, and rebuilds without a lock.
TEST_P(hot_key, without_a_lock_is_rebuilt_by_many) {
    EXPECT_TRUE(ask_together([&](cached<std::string>&, fenced_storage& cache) -> std::optional<std::string> {
        if (const auto found = cache.read("hot")) return found->bytes;
        ++seen->backend_calls;
        std::this_thread::sleep_for(50ms);
        static_cast<void>(cache.seal("hot", token{1}));
        static_cast<void>(cache.write("hot", token{1}, "right", 1h));
        return "right";
    }));
    EXPECT_GT(seen->backend_calls, 1);
    std::cout << "backend calls without a lock: " << seen->backend_calls << ", with single_flight: 1\n";
}

}  // namespace
}  // namespace mortise::testing
