#include "workloads.hpp"

#include "shared.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace bench {
namespace {

using std::chrono::steady_clock;

constexpr int most_lanes = 64;
constexpr int most_rounds = 1000;

// One thread's counts, in a cache line of its own.
struct alignas(64) lane {
    std::uint64_t grants;
    std::uint64_t thread_switches;
    std::uint64_t process_switches;
};

// Rushing is as measuring, uncounted: until all have had a time slice, the first would have the lock for itself.
enum phase : std::uint32_t { gathering, rushing, measuring, over };
constexpr auto rush = std::chrono::milliseconds{40};

struct crowd_board {
    alignas(64) std::atomic<int> ready;
    alignas(64) futex_word now;           // a phase
    alignas(64) std::atomic<int> asking;  // how many are in lock()
    alignas(64) std::atomic<int> last;    // the lane that had the lock last; written by who holds it
    std::array<lane, most_lanes> lanes;
};

// The first time may connect, open and map.
void warm_up(turnstile& lock) {
    lock.lock();
    lock.unlock();
}

void take_turns(crowd_board& board, turnstile& lock, int number, const crowd_shape& shape) {
    warm_up(lock);
    ++board.ready;
    board.now.await_change(gathering);

    lane mine{};
    std::uint32_t now = rushing;
    while ((now = board.now.get()) != over) {
        if (shape.contended) ++board.asking;
        lock.lock();
        if (shape.contended) {
            --board.asking;
            while (board.asking == 0 && board.now.get() != over) std::this_thread::yield();
        }
        const int last = board.last.load(std::memory_order_relaxed);
        if (last != number) board.last.store(number, std::memory_order_relaxed);
        if (now == measuring) {
            ++mine.grants;
            mine.thread_switches += last != number;
            mine.process_switches += last / shape.threads != number / shape.threads;
        }
        lock.unlock();
    }
    board.lanes[static_cast<std::size_t>(number)] = mine;
}

// Runs `work(i)` in so many threads. What one of them throws is thrown here.
void in_threads(int count, const std::function<void(int)>& work) {
    if (count == 1) return work(0);
    std::exception_ptr failure;
    std::mutex failure_guard;
    std::vector<std::thread> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        all.emplace_back([&, i] {
            try {
                work(i);
            } catch (...) {
                const std::scoped_lock guard{failure_guard};
                failure = std::current_exception();
            }
        });
    }
    for (std::thread& each : all) each.join();
    if (failure) std::rethrow_exception(failure);
}

struct wake_board {
    // 1: the giver is warm; 3: the taker too. From then on 3n: nobody has the lock; 3n+1: the giver holds it; 3n+2: the
    // taker is about to lock.
    futex_word step;
    std::int64_t given;
    std::array<std::int64_t, most_rounds> latencies;
};

std::int64_t now() {
    return steady_clock::now().time_since_epoch().count();
}

void give(wake_board& board, turnstile& lock, unsigned rounds, std::chrono::nanoseconds pause) {
    warm_up(lock);
    board.step.set(1);
    for (unsigned n = 1; n <= rounds; ++n) {
        board.step.await(3 * n);
        lock.lock();
        board.step.set(3 * n + 1);
        board.step.await(3 * n + 2);
        pause_for(pause);
        board.given = now();
        lock.unlock();
    }
}

void take(wake_board& board, turnstile& lock, unsigned rounds) {
    board.step.await(1);
    warm_up(lock);
    board.step.set(3);
    for (unsigned n = 1; n <= rounds; ++n) {
        board.step.await(3 * n + 1);
        board.step.set(3 * n + 2);
        lock.lock();
        board.latencies[n - 1] = now() - board.given;
        lock.unlock();
        board.step.set(3 * n + 3);
    }
}

}  // namespace

crowd_result crowd(const contender& lock, const crowd_shape& shape, std::chrono::nanoseconds time) {
    const int lanes = shape.processes * shape.threads;
    if (lanes > most_lanes) throw std::invalid_argument("too many threads");
    const shared<crowd_board> board;
    crew all{shape.processes, shape.where, [&](int process) {
                 const maker make = lock.open(process);
                 in_threads(shape.threads,
                            [&](int thread) { take_turns(*board, *make(), process * shape.threads + thread, shape); });
             }};
    all.wait_for([&] { return board->ready == lanes; });
    board->now.set(rushing);
    pause_for(rush);
    const auto begun = steady_clock::now();
    board->now.set(measuring);
    pause_for(time);
    board->now.set(over);
    const std::chrono::duration<double> took = steady_clock::now() - begun;
    all.finish();

    lane sum{};
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    for (int i = 0; i < lanes; ++i) {
        const lane& each = board->lanes[static_cast<std::size_t>(i)];
        sum.grants += each.grants;
        sum.thread_switches += each.thread_switches;
        sum.process_switches += each.process_switches;
        least = std::min(least, each.grants);
        most = std::max(most, each.grants);
    }
    const auto per_second = [&](std::uint64_t count) { return static_cast<double>(count) / took.count(); };
    const double mean = static_cast<double>(std::max<std::uint64_t>(sum.grants, 1)) / lanes;
    return {.grants = per_second(sum.grants),
            .thread_switches = per_second(sum.thread_switches),
            .process_switches = per_second(sum.process_switches),
            .least_share = static_cast<double>(least) / mean,
            .most_share = static_cast<double>(most) / mean};
}

wake_result wake(const contender& lock, int rounds, std::chrono::nanoseconds pause, placement where) {
    if (rounds < 1 || rounds > most_rounds) throw std::invalid_argument("rounds must be 1 to 1,000");
    const auto count = static_cast<unsigned>(rounds);
    const shared<wake_board> board;
    crew both{2, where, [&](int process) {
                  const maker make = lock.open(process);
                  const auto mine = make();
                  if (process == 0) return give(*board, *mine, count, pause);
                  take(*board, *mine, count);
              }};
    both.finish();
    const auto begin = board->latencies.begin();
    const auto end = begin + rounds;
    std::sort(begin, end);
    const auto at = [&](double share) { return static_cast<double>(begin[static_cast<int>(share * (rounds - 1))]); };
    return {.p50 = at(0.50), .p99 = at(0.99)};
}

}  // namespace bench
