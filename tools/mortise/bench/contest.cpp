#include "contest.hpp"

#include "shared.hpp"
#include "statistics.hpp"
#include "threads.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

using std::chrono::steady_clock;

constexpr int most_lanes = 64;

// One thread's counts, in cache lines of its own.
struct alignas(64) lane {
    std::uint64_t grants;
    std::uint64_t thread_switches;
    std::uint64_t process_switches;
    histogram waits;
    histogram pairs;
    histogram handovers;
};

// Rushing is as measuring, uncounted: until all have had a time slice, the first would have the lock for itself.
enum phase : std::uint32_t { gathering, rushing, measuring, over };
constexpr auto rush = std::chrono::milliseconds{40};
// On a busy machine, a whole run may pass before anybody gets the lock. A rate of zero compares with nothing.
constexpr auto longest_first_grant = std::chrono::seconds{5};

struct contest_board {
    alignas(64) std::atomic<int> ready;
    alignas(64) futex_word now;                    // a phase
    alignas(64) std::atomic<int> asking;           // how many are in lock()
    alignas(64) std::atomic<int> last;             // the lane that had the lock last; written by who holds it
    alignas(64) std::atomic<std::int64_t> handed;  // when it called unlock(); written likewise
    alignas(64) std::atomic<bool> counted;         // there has been a grant to count
    std::array<lane, most_lanes> lanes;
};

std::int64_t now() {
    return steady_clock::now().time_since_epoch().count();
}

// The first time may connect, open and map. Who alternates has to wait for the other's first turn.
void warm_up(mortise::baseline_end& lock) {
    lock.lock();
    lock.unlock();
}

void take_turns(contest_board& board, mortise::baseline_end& lock, int number, const contest_shape& shape,
                bool alternates) {
    if (!alternates) warm_up(lock);
    ++board.ready;
    board.now.await_change(gathering);

    lane& mine = board.lanes[static_cast<std::size_t>(number)];
    const bool contended = shape.contended && !alternates;
    for (int turn = 0; board.now.get() != over; ++turn) {
        const bool timed = turn % shape.timed_every == 0;
        const std::int64_t asked = timed ? now() : 0;
        if (contended) ++board.asking;
        lock.lock();
        const std::int64_t got = timed ? now() : 0;
        const std::uint32_t phase = board.now.get();
        const int last = board.last.load(std::memory_order_relaxed);
        const std::int64_t handed = board.handed.load(std::memory_order_relaxed);
        if (contended) {
            --board.asking;
            while (board.asking == 0 && board.now.get() != over) std::this_thread::yield();
        }
        if (last != number) board.last.store(number, std::memory_order_relaxed);
        if (phase == measuring) {
            ++mine.grants;
            if (!board.counted.load(std::memory_order_relaxed)) board.counted = true;
            mine.thread_switches += last != number;
            mine.process_switches += last / shape.threads != number / shape.threads;
            if (timed && last != number && handed != 0) mine.handovers.add(got - handed);
        }
        if (timed && phase != rushing) mine.waits.add(got - asked);  // also of who got it too late to count
        if (shape.inside) shape.inside();
        if (timed) board.handed.store(now(), std::memory_order_relaxed);
        lock.unlock();
        if (timed && shape.lanes() == 1 && phase == measuring) mine.pairs.add(now() - asked);
    }
}

struct wake_board {
    // 1: the giver is warm; 3: the taker too. From then on 3n: nobody has the lock; 3n+1: the giver holds it; 3n+2: the
    // taker is about to lock.
    futex_word step;
    std::int64_t given;
    histogram latencies;
};

void give(wake_board& board, mortise::baseline_end& lock, unsigned rounds, std::chrono::nanoseconds pause) {
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
    board.step.await(3 * rounds + 3);
}

void take(wake_board& board, mortise::baseline_end& lock, unsigned rounds) {
    board.step.await(1);
    warm_up(lock);
    board.step.set(3);
    for (unsigned n = 1; n <= rounds; ++n) {
        board.step.await(3 * n + 1);
        board.step.set(3 * n + 2);
        lock.lock();
        board.latencies.add(now() - board.given);
        lock.unlock();
        board.step.set(3 * n + 3);
    }
}

// Nobody but the board says whose turn it is: 2n: the keeper's; 2n + 1: the taker's.
void keep_idle(wake_board& board, const maker& make, unsigned rounds, std::chrono::nanoseconds pause) {
    for (unsigned n = 0; n < rounds; ++n) {
        board.step.await(2 * n);
        const auto lock = make(static_cast<int>(n));
        warm_up(*lock);
        warm_up(*lock);
        pause_for(pause);
        board.step.set(2 * n + 1);
        board.step.await(2 * n + 2);
    }
}

void take_first(wake_board& board, const maker& make, unsigned rounds) {
    warm_up(*make(static_cast<int>(rounds)));
    for (unsigned n = 0; n < rounds; ++n) {
        const auto lock = make(static_cast<int>(n));
        board.step.await(2 * n + 1);
        const std::int64_t asked = now();
        lock->lock();
        board.latencies.add(now() - asked);
        lock->unlock();
        board.step.set(2 * n + 2);
    }
}

struct drain_board {
    std::atomic<int> asking;
    std::atomic<int> served;
    futex_word now;  // 1: the lock is held, ask; 2: give it back
    std::int64_t begun;
    std::array<histogram, most_lanes> waits;  // by process
};

}  // namespace

contest_result contest(const contender& lock, const contest_shape& shape, std::chrono::nanoseconds time) {
    const int lanes = shape.lanes();
    if (lanes > most_lanes) throw std::invalid_argument("too many threads");
    const shared<contest_board> board;
    crew all{shape.processes, [&](int process) {
                 const maker make = lock.open();
                 in_threads(shape.threads, [&](int thread) {
                     const int number = process * shape.threads + thread;
                     settle(shape.where, number);
                     take_turns(*board, *make(number), number, shape, lock.alternates);
                 });
             }};
    all.wait_for([&] { return board->ready == lanes; });
    board->now.set(rushing);
    all.pause(std::min<std::chrono::nanoseconds>(rush, time));
    const auto begun = steady_clock::now();
    board->now.set(measuring);
    all.pause(time);
    const auto patience = begun + time + longest_first_grant;
    all.wait_for([&] { return board->counted || steady_clock::now() > patience; });
    board->now.set(over);
    const std::chrono::duration<double> took = steady_clock::now() - begun;
    all.finish();

    contest_result sum;
    std::vector<std::uint64_t> grants;
    for (int i = 0; i < lanes; ++i) {
        const lane& each = board->lanes[static_cast<std::size_t>(i)];
        grants.push_back(each.grants);
        sum.grants += static_cast<double>(each.grants) / took.count();
        sum.thread_switches += static_cast<double>(each.thread_switches) / took.count();
        sum.process_switches += static_cast<double>(each.process_switches) / took.count();
        sum.waits.add(each.waits);
        sum.pairs.add(each.pairs);
        sum.handovers.add(each.handovers);
    }
    const shares parts = shares_of(grants);
    sum.least_share = parts.least;
    sum.most_share = parts.most;
    return sum;
}

histogram wake_ups(const contender& lock, const contest_shape& shape, int rounds, std::chrono::nanoseconds pause) {
    const auto count = static_cast<unsigned>(rounds);
    const shared<wake_board> board;
    crew both{shape.processes, [&](int process) {
                  const maker make = lock.open();
                  in_threads(shape.threads, [&](int thread) {
                      const int number = process * shape.threads + thread;
                      settle(shape.where, number);
                      const auto mine = make(number);
                      if (number == 0) return give(*board, *mine, count, pause);
                      take(*board, *mine, count);
                  });
              }};
    both.finish();
    return board->latencies;
}

histogram first_takes(const contender& lock, const contest_shape& shape, int rounds, std::chrono::nanoseconds pause) {
    const auto count = static_cast<unsigned>(rounds);
    const shared<wake_board> board;
    crew both{2, [&](int process) {
                  const maker make = lock.open();
                  settle(shape.where, process);
                  process == 0 ? keep_idle(*board, make, count, pause) : take_first(*board, make, count);
              }};
    both.finish();
    return board->latencies;
}

drain_result drain(const contender& lock, const contest_shape& shape, const std::function<void()>& begins,
                   const std::function<void()>& ended) {
    const int lanes = shape.lanes();
    if (shape.processes > most_lanes) throw std::invalid_argument("too many processes");
    const shared<drain_board> board;
    crew all{shape.processes, [&](int process) {
                 const maker make = lock.open();
                 std::mutex guard;
                 in_threads(shape.threads, [&](int thread) {
                     const int number = process * shape.threads + thread;
                     const auto mine = make(number);
                     if (number == 0) {
                         mine->lock();
                         board->now.set(1);
                         board->now.await(2);
                         board->begun = now();
                         mine->unlock();
                         return;
                     }
                     board->now.await(1, 2);
                     ++board->asking;
                     mine->lock();
                     const std::int64_t waited = now() - board->begun;
                     mine->unlock();
                     ++board->served;
                     const std::scoped_lock alone{guard};
                     board->waits[static_cast<std::size_t>(process)].add(waited);
                 });
             }};
    all.wait_for([&] { return board->asking == lanes - 1; });
    all.pause(std::chrono::milliseconds{200});  // to fall asleep
    begins();
    const auto begun = steady_clock::now();
    board->now.set(2);
    all.wait_for([&] { return board->served == lanes - 1; });
    const std::chrono::duration<double> took = steady_clock::now() - begun;
    ended();
    all.finish();

    drain_result sum{.handovers = static_cast<double>(lanes - 1) / took.count()};
    for (const histogram& each : board->waits) sum.waits.add(each);
    return sum;
}

}  // namespace bench
