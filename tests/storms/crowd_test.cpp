// Ten thousand waiters on one name: a release wakes exactly one of them.
#include "support/recording_observer.hpp"
#include "support/waiting.hpp"

#include <mortise/mutex.hpp>

#include <atomic>
#include <iostream>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

namespace mortise::testing {
namespace {

// Threads with small stacks: ten thousand default ones would ask for 80 GB of address space.
class small_thread {
public:
    explicit small_thread(std::function<void()> work)
        : work_(std::make_unique<std::function<void()>>(std::move(work))) {
        pthread_attr_t small;
        ::pthread_attr_init(&small);
        ::pthread_attr_setstacksize(&small, 256 * 1024);
        const auto run = [](void* given) -> void* {
            (*static_cast<std::function<void()>*>(given))();
            return nullptr;
        };
        started_ = ::pthread_create(&thread_, &small, run, work_.get()) == 0;
        ::pthread_attr_destroy(&small);
    }
    bool started() const { return started_; }
    void join() { ::pthread_join(thread_, nullptr); }

private:
    std::unique_ptr<std::function<void()>> work_;
    pthread_t thread_{};
    bool started_ = false;
};

long naps_of_this_thread() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

// A blocked thread that is woken goes to sleep once per wake. If every release woke the whole crowd, the sum would be
// thousands for each waiter; one wake each leaves it near one, plus what the mutexes of the library cost under this load.
void expect_one_wake_each(const claim_options& options) {
    const std::uint64_t crowd = scale(10'000);
    const auto seen = std::make_shared<recording_observer>();
    // A thread that renews waits for its turn among ten thousand that start: no lease may end meanwhile.
    client locks{"memory:crowd", {.lease = std::chrono::hours{1}, .observer = seen}};
    std::atomic<long> naps{0};
    std::atomic<std::uint64_t> served{0};

    hold first = locks.acquire("door");
    std::vector<small_thread> waiters;
    for (std::uint64_t n = 0; n < crowd; ++n) {
        waiters.emplace_back([&] {
            const long before = naps_of_this_thread();
            hold mine = locks.acquire("door", options);
            naps += naps_of_this_thread() - before;
            ++served;
            mine.release();
        });
        ASSERT_TRUE(waiters.back().started()) << "only " << n << " threads could be started";
    }
    ASSERT_TRUE(seen->wait_for(event_kind::waited, crowd, std::chrono::seconds{120}));
    EXPECT_EQ(served.load(), 0u);
    naps = 0;
    first.release();
    for (small_thread& one : waiters) one.join();

    EXPECT_EQ(served.load(), crowd);
    const double each = static_cast<double>(naps.load()) / static_cast<double>(crowd);
    std::cout << "crowd: waiters=" << crowd << " wakes_per_hand_over=" << each << "\n";
    EXPECT_LT(each, 4.0);
}

TEST(crowd, a_release_wakes_one_waiter_inside_the_process) {
    expect_one_wake_each({});
}

TEST(crowd, a_release_wakes_one_waiter_in_the_stores_queue) {
    expect_one_wake_each({.order = order::fifo});
}

// The same, counted exactly: after each release one more call is answered, and only one.
TEST(crowd, each_release_answers_exactly_one_call) {
    const std::uint64_t crowd = scale(10'000);
    client locks{"memory:queue"};
    std::vector<hold> arrived;
    std::mutex guard_arrived;
    hold current = locks.acquire("door");
    std::atomic<std::uint64_t> answered{0};
    for (std::uint64_t n = 0; n < crowd; ++n)
        locks.start({.name = "door"}, [&](attempt got) {
            std::scoped_lock guard{guard_arrived};
            arrived.push_back(*std::move(got));
            ++answered;
        });
    for (std::uint64_t turn = 1; turn <= crowd; ++turn) {
        ASSERT_EQ(answered.load(), turn - 1);
        current.release();
        while (answered.load() < turn) std::this_thread::yield();
        std::scoped_lock guard{guard_arrived};
        current = std::move(arrived.back());
        arrived.pop_back();
    }
    EXPECT_EQ(answered.load(), crowd);
}

}  // namespace
}  // namespace mortise::testing
