#include "held_claims.hpp"

#include "baseline/registry.hpp"
#include "crew.hpp"
#include "shared.hpp"
#include "statistics.hpp"

#include <mortise/client.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include <time.h>

namespace bench {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int most_runs = 9;

struct holding_board {
    std::array<double, most_runs> client_processors;
    std::array<double, most_runs> server_processors;
    std::array<double, most_runs> per_renewal;
    std::array<double, most_runs> per_baseline_pair;
    double taken;
    double client_memory;
    double store_memory;
    double lost;
    double longest_wait;
};

double seconds_since(steady_clock::time_point begun) {
    return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

// CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID: seconds.
double processor_time(clockid_t whose) {
    timespec used{};
    ::clock_gettime(whose, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// What this process keeps for itself: a store's shared file is not its own.
double own_memory() {
    std::ifstream status{"/proc/self/status"};
    std::string word;
    double kilobytes = 0;
    while (status >> word)
        if (word == "RssAnon:" && status >> kilobytes) break;
    return kilobytes * 1024;
}

double difference(auto before, auto after) {
    if (!before || !after) return none;
    return static_cast<double>(*after) - static_cast<double>(*before);
}

std::optional<std::int64_t> ticks(const mortise::store_usage& of) {
    return of.processor ? std::optional{of.processor->count()} : std::nullopt;
}

double pair_of(mortise::baseline_end& end) {
    constexpr int pairs = 2000;
    const double before = processor_time(CLOCK_THREAD_CPUTIME_ID);
    for (int n = 0; n < pairs; ++n) {
        end.lock();
        end.unlock();
    }
    return (processor_time(CLOCK_THREAD_CPUTIME_ID) - before) * 1e9 / pairs;
}

// Renewals must not hold up others: locks a free name again and again, and notes the longest wait.
class passer_by {
public:
    passer_by(mortise::client& locks, std::string name)
        : thread_{[this, &locks, name = std::move(name)](const std::stop_token& enough) {
              while (!enough.stop_requested()) {
                  const auto begun = steady_clock::now();
                  const bool served = static_cast<bool>(locks.try_acquire(name, {.wait = 60s}));
                  const double took = served ? seconds_since(begun) * 1e9 : 60e9;
                  if (took > longest_.load()) longest_ = took;
                  std::this_thread::sleep_for(20ms);
              }
          }} {}
    double longest_wait() const { return longest_; }

private:
    std::atomic<double> longest_{0};
    std::jthread thread_;
};

void keep(holding_board& board, const std::string& store, const std::string& stem, const mortise::baseline* beside,
          const holding_shape& shape) {
    mortise::client locks{store};
    const mortise::baselines baselines = mortise::baselines_of(store);
    const auto end = beside == nullptr ? nullptr : beside->open(stem, 0);
    std::vector<mortise::hold> held;
    held.reserve(static_cast<std::size_t>(shape.holds));
    static_cast<void>(locks.acquire(stem + "-first", {.lease = shape.lease}));  // connects

    const double memory = own_memory();
    const mortise::store_usage before = baselines.usage();
    const auto begun = steady_clock::now();
    for (int n = 0; n < shape.holds; ++n)
        held.push_back(locks.acquire(stem + "-" + std::to_string(n), {.lease = shape.lease}));
    const double count = shape.holds;
    board.taken = count / seconds_since(begun);
    board.client_memory = (own_memory() - memory) / count;
    board.store_memory = difference(before.memory, baselines.usage().memory) / count;

    const passer_by other{locks, stem + "-other"};
    const std::chrono::nanoseconds third = shape.lease / 3;
    for (int run = 0; run < shape.runs; ++run) {
        const auto at = static_cast<std::size_t>(run);
        board.per_baseline_pair[at] = end ? pair_of(*end) : none;
        const auto served = ticks(baselines.usage());
        const double used = processor_time(CLOCK_PROCESS_CPUTIME_ID);
        const auto from = steady_clock::now();
        pause_for(third * shape.thirds);
        const double time = seconds_since(from);
        const double spent = processor_time(CLOCK_PROCESS_CPUTIME_ID) - used;
        const double renewals = count * time / std::chrono::duration<double>(third).count();
        board.client_processors[at] = spent / time;
        board.server_processors[at] = difference(served, ticks(baselines.usage())) / 1e9 / time;
        board.per_renewal[at] = spent * 1e9 / renewals;
    }
    board.longest_wait = other.longest_wait();
    for (const mortise::hold& each : held) board.lost += each.valid() ? 0 : 1;
}

}  // namespace

holding_result hold_many(const std::string& store, const std::string& stem, const mortise::baseline* beside,
                         const holding_shape& shape) {
    if (shape.runs > most_runs) throw std::invalid_argument("too many runs");
    const shared<holding_board> board;
    const auto runs = std::chrono::duration_cast<std::chrono::seconds>(shape.lease / 3 * shape.thirds * shape.runs);
    {
        crew one{1, [&](int) { keep(*board, store, stem, beside, shape); },
                 runs + std::chrono::seconds{60 + shape.holds / 50}};  // a store that syncs takes its time
        one.finish();
    }
    if (beside != nullptr) beside->clear(stem);
    const auto taken = [&](const std::array<double, most_runs>& all) {
        return std::vector<double>(all.begin(), all.begin() + shape.runs);
    };
    return {.client_processors = taken(board->client_processors),
            .server_processors = taken(board->server_processors),
            .per_renewal = taken(board->per_renewal),
            .per_baseline_pair = taken(board->per_baseline_pair),
            .taken = board->taken,
            .client_memory = board->client_memory,
            .store_memory = board->store_memory,
            .lost = board->lost,
            .longest_wait = board->longest_wait};
}

}  // namespace bench
