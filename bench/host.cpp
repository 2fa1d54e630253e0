// host_bench: the store host: beside flock(2), a robust pthread mutex and the bare futex, in one run.
//
//   host_bench [--quick] [--json] [--check] [workload...]
//
//   --quick   short runs: shows that it works, not how fast
//   --json    one object a line instead of tables
//   --check   status 1 if a bar is missed (it is always said)
//
// workload: uncontended, hand-over, wake, crowd; all of them if none is named.
#include "crew.hpp"
#include "figures.hpp"
#include "mortise_locks.hpp"
#include "raw.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace bench;
using namespace std::chrono_literals;

struct settings {
    int runs = 5;
    std::chrono::nanoseconds time = 300ms;  // of one run
    int rounds = 300;
    bool json = false;
    bool check = false;
    std::vector<std::string> workloads{};

    bool wants(std::string_view workload) const {
        return workloads.empty() || std::find(workloads.begin(), workloads.end(), workload) != workloads.end();
    }
};

// Gone at the end, with all that is in it.
class scratch_directory {
public:
    scratch_directory() {
        path_ = std::filesystem::temp_directory_path() / "mortise-bench-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
    }
    ~scratch_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

class program {
public:
    explicit program(settings how) : how_(std::move(how)), text_(std::cout) {}

    bool all_bars_met() const { return all_bars_met_; }

    void run() {
        if (!how_.json) {
            std::cout << store_ << ", " << std::thread::hardware_concurrency() << " processors, median of " << how_.runs
                      << " runs in turn, least - most\n";
        }
        if (how_.wants("uncontended")) uncontended();
        for (const placement where : {placement::together, placement::apart}) {
            if (how_.wants("hand-over")) hand_over(where);
            if (how_.wants("wake")) wake_up(where);
        }
        if (how_.wants("crowd")) many();
    }

private:
    // One thread and a lock that nobody else wants.
    void uncontended() {
        const std::vector<contender> all{flock_, robust_, mutex_on(store_, "alone"), handle_on(store_, "alone")};
        const auto taken =
            measure<crowd_result>(all, [&](const contender& each) { return crowd(each, {}, how_.time); });
        const bar enough{bar::side::at_least, 0.1};
        show("uncontended, 1 process x 1 thread", all, taken, "lock and unlock", "pairs/s", &crowd_result::grants, 0,
             {{}, {}, enough, enough});
    }

    // Two processes that both want the lock all the time, and must take turns. On one processor they never want it at the
    // same time by themselves: the kernel runs the woken one in the midst of the other's unlock(). To make them contend it
    // must switch back and forth once more each turn, so that figure has no bar.
    void hand_over(placement where) {
        const std::vector<contender> all{futex_ping_pong(), fair("hand-over"), flock_, robust_};
        const auto taken = measure<crowd_result>(all, [&](const contender& each) {
            // The ping-pong alternates by itself.
            const bool contended = &each != all.data();
            return crowd(each, {.processes = 2, .where = where, .contended = contended}, how_.time);
        });
        const std::string workload = "hand-over, 2 processes x 1 thread, hot, " + described(where);
        std::vector<std::optional<bar>> bars(all.size());
        if (where == placement::apart) bars[1] = at_most_three;
        show(workload, all, taken, "time per process switch", "us", &switch_time, 0, bars);
        show(workload, all, taken, "process switches", "1/s", &crowd_result::process_switches);
        show(workload, all, taken, "grants", "1/s", &crowd_result::grants);
    }

    // From unlock() in one process to the return of lock() in another, which slept.
    void wake_up(placement where) {
        const std::vector<contender> all{futex_ping_pong(), fair("wake"), flock_, robust_};
        const auto taken =
            measure<wake_result>(all, [&](const contender& each) { return wake(each, how_.rounds, 1ms, where); });
        const std::string workload = "wake, unlock to return of a sleeping lock, 1 ms idle before, " + described(where);
        show(workload, all, taken, "p50", "us", [](const wake_result& one) { return one.p50 / 1000; }, 0,
             {{}, at_most_three});
        show(
            workload, all, taken, "p99", "us", [](const wake_result& one) { return one.p99 / 1000; }, 0);
    }

    // More threads than processors, in several processes, and one lock.
    void many() {
        const std::vector<contender> all{flock_, robust_, each_asks("crowd"), mutex_on(store_, "crowd")};
        const auto taken = measure<crowd_result>(
            all, [&](const contender& each) { return crowd(each, {.processes = 4, .threads = 4}, how_.time); });
        const std::string workload = "crowd, 4 processes x 4 threads";
        show(workload, all, taken, "grants", "1/s", &crowd_result::grants, 0);
        show(workload, all, taken, "process switches", "1/s", &crowd_result::process_switches);
        show(workload, all, taken, "thread switches", "1/s", &crowd_result::thread_switches);
        show(workload, all, taken, "least share of a thread", "of the mean", &crowd_result::least_share);
        show(workload, all, taken, "most share of a thread", "of the mean", &crowd_result::most_share);
    }

    static constexpr bar at_most_three{bar::side::at_most, 3};

    static std::string described(placement where) {
        return where == placement::apart ? "on two processors" : "on one processor";
    }

    static double switch_time(const crowd_result& one) {
        return one.process_switches > 0 ? 1e6 / one.process_switches : 1e6;
    }

    // The store alone, in strict order.
    contender fair(const std::string& name) const {
        contender made = mutex_on(store_, name, {.hand_over_turns = 1}, {.order = mortise::order::fifo});
        made.name += ", fifo";
        return made;
    }

    // No hand-over between threads of a process: the store is asked for each turn.
    contender each_asks(const std::string& name) const {
        contender made = mutex_on(store_, name, {.hand_over_turns = 1});
        made.name += ", no hand-over";
        return made;
    }

    template <class Result, class Run>
    std::vector<std::vector<Result>> measure(const std::vector<contender>& all, Run run) const {
        std::vector<std::function<Result()>> subjects;
        subjects.reserve(all.size());
        for (const contender& each : all) {
            subjects.push_back([&each, run] {
                try {
                    return run(each);
                } catch (const std::exception& e) {
                    throw std::runtime_error(each.name + ": " + e.what());
                }
            });
        }
        return in_turn(how_.runs, subjects);
    }

    // One figure for each contender; with a baseline, which is one of them, all others have ratios to it.
    template <class Result, class Value>
    void show(const std::string& workload, const std::vector<contender>& all,
              const std::vector<std::vector<Result>>& taken, const std::string& metric, const std::string& unit,
              Value value, std::optional<std::size_t> baseline = {}, const std::vector<std::optional<bar>>& bars = {}) {
        std::vector<std::vector<double>> values(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (const Result& one : taken[i]) values[i].push_back(std::invoke(value, one));
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            figure one{workload, all[i].name, metric, unit, spread_of(values[i])};
            if (baseline && i != *baseline) {
                one.baseline = all[*baseline].name;
                one.ratio = ratio_of(values[i], values[*baseline]);
                if (i < bars.size()) one.bar = bars[i];
            }
            if (one.bar_missed()) all_bars_met_ = false;
            if (how_.json) {
                print_json(std::cout, one);
            } else {
                text_.print(one);
            }
        }
    }

    settings how_;
    table text_;
    bool all_bars_met_ = true;
    scratch_directory directory_;
    std::string store_ = "host:" + directory_.path();
    contender flock_ = flock_on(directory_.path() + "/flock");
    contender robust_ = robust_mutex();
};

settings read(const std::vector<std::string>& arguments) {
    settings how;
    for (const std::string& each : arguments) {
        if (each == "--quick") {
            how.runs = 3;
            how.time = 30ms;
            how.rounds = 20;
        } else if (each == "--json") {
            how.json = true;
        } else if (each == "--check") {
            how.check = true;
        } else if (each == "uncontended" || each == "hand-over" || each == "wake" || each == "crowd") {
            how.workloads.push_back(each);
        } else {
            throw std::invalid_argument(
                "usage: host_bench [--quick] [--json] [--check] [uncontended | hand-over | wake | crowd]...");
        }
    }
    return how;
}

}  // namespace

int main(int count, char** given) try {
    const settings how = read({given + 1, given + count});
    heed_interrupts();
    program bench{how};
    bench.run();
    return how.check && !bench.all_bars_met() ? 1 : 0;
} catch (const std::invalid_argument& e) {
    std::cerr << e.what() << "\n";
    return 64;
} catch (const std::exception& e) {
    std::cerr << "host_bench: " << e.what() << "\n";
    return 2;
}
