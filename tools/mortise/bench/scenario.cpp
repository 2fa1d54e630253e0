#include "scenario.hpp"

#include "contest.hpp"
#include "statistics.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include <unistd.h>

namespace bench {
namespace {

using namespace std::chrono_literals;
using mortise::baseline;

constexpr std::string_view lazy_release = ", lazy release";
constexpr std::string_view no_hand_over = ", no hand-over";
constexpr std::string_view kept = ", kept";
constexpr std::string_view first_taker = ", kept by another";

bool is_host(const entrant& one) {
    return one.store->promises().store == "host";
}

// Asked over a network, so nothing is its limit but what its server can do.
bool is_served(const subject_store& store) {
    return store.baselines_of_kind(baseline::kind::lock).empty();
}

// Where a store is on the same host, locks are kept unasked.
bool keeps_across_a_network(const subject_store& store) {
    const std::string& its = store.promises().store;
    return store.promises().keeps && its != "memory" && its != "host";
}

// Locks that are kept as other clients keep them, and have bars of their own.
bool is_setnx(const entrant& one) {
    return one.lock.ours && one.store->promises().store.starts_with("redis setnx");
}

bool is_redisson(const entrant& one) {
    return one.lock.ours && one.store->promises().store.starts_with("redis redisson");
}

bool is_redlock(const entrant& one) {
    return one.lock.ours && one.store->promises().store.starts_with("redlock");
}

// Ours, beside "scripts alone" and "publish ping-pong", which use the same server without Mortise.
bool is_redis(const entrant& one) {
    return one.lock.ours && one.store->promises().store.starts_with("redis") && !is_setnx(one) && !is_redisson(one);
}

bool is_etcd(const entrant& one) {
    return one.lock.ours && one.store->promises().store.starts_with("etcd");
}

bool is_zookeeper(const entrant& one) {
    return one.lock.ours && one.store->promises().store.starts_with("zookeeper");
}

// Ours, on a database.
bool is_memory(const entrant& one) {
    return one.lock.ours && one.store->promises().store == "memory";
}

bool is_database(const entrant& one) {
    const std::string& store = one.store->promises().store;
    return one.lock.ours && (store.starts_with("mysql") || store.starts_with("postgres"));
}

// Its grants are on disk before anybody is told of them.
bool commits_grants(const entrant& one) {
    return is_database(one) && !one.store->baselines_of_kind(baseline::kind::commit).empty();
}

// Its lock is the server's own, and belongs to a session.
bool is_of_session(const entrant& one) {
    return is_database(one) && (one.store->url.find("strategy=get_lock") != std::string::npos ||
                                one.store->url.find("strategy=advisory") != std::string::npos);
}

// Enters those baselines. The first of them, if any, is what they and ours are compared with.
std::optional<std::size_t> enter(scenario& plan, const subject_store& store, const std::vector<baseline>& all,
                                 const names& where, std::optional<std::size_t> compared_with = {}) {
    if (!compared_with && !all.empty()) compared_with = plan.entrants.size();
    for (const baseline& each : all) plan.entrants.push_back({&store, baseline_on(each, where), compared_with});
    return compared_with;
}

void note_missing_baseline(scenario& plan, const subject_store& store) {
    if (store.baselines.all.empty())
        plan.left_out.push_back(
            {&store, plan.workload + ": baseline", store.shown() + " has no baseline, so it is measured alone"});
}

bool reaches(scenario& plan, const subject_store& store, int processes) {
    if (processes == 1 || store.promises().processes) return true;
    plan.left_out.push_back({&store, plan.workload, store.shown() + " has no other processes"});
    return false;
}

outcome outcome_of(const contest_result& one) {
    const bool alone = one.pairs.count() > 0;
    const histogram& times = alone ? one.pairs : one.waits;
    return {{one.grants, one.thread_switches, one.process_switches, times.percentile(0.5), times.percentile(0.99),
             times.percentile(0.999), one.least_share, one.most_share},
            times};
}

// Threads on every store: its baselines, and ours with local hand-over and without. Where all share one lock of a server, also
// the switches that the server can do: two processes that push to each other.
scenario contest_of(std::string workload, const contest_shape& shape, bool a_name_each, const subject_stores& stores,
                    const options& how) {
    const bool alone = shape.lanes() == 1;
    const bool one_for_all = !a_name_each && !alone;
    const bool apart = shape.processes > 1;
    scenario plan{.workload = std::move(workload),
                  .metrics = {{"rate", unit::per_second, true},
                              {"thread switches", unit::per_second, one_for_all && !apart},
                              {"process switches", unit::per_second, one_for_all && apart},
                              {alone ? "pair p50" : "p50", unit::nanoseconds, alone},
                              {"p99", unit::nanoseconds},
                              {"longest wait", unit::nanoseconds},
                              {"least share", unit::share},
                              {"most share", unit::share}},
                  .lanes = shape.lanes()};
    for (const auto& store : stores) {
        if (!reaches(plan, *store, shape.processes)) continue;
        const names where{fresh_name(plan.workload), a_name_each};
        note_missing_baseline(plan, *store);
        const auto compared_with = enter(plan, *store, store->lock_baselines(), where);
        if (alone && !is_served(*store))  // what a trip is to a server that has locks of its own
            enter(plan, *store, store->baselines_of_kind(baseline::kind::trip), where, compared_with);
        std::optional<std::size_t> pushes;
        if (one_for_all && is_served(*store))
            pushes = enter(plan, *store, store->baselines_of_kind(baseline::kind::ping_pong), where);
        plan.entrants.push_back({store.get(), mutex_on(store->url, where), compared_with, pushes});
        if (alone) plan.entrants.push_back({store.get(), handle_on(store->url, where), compared_with});
        if (alone && store->promises().replicas) {  // a store that is asked over a network
            contender lazy = mutex_on(store->url, where, {}, {.release = mortise::release_mode::lazy});
            lazy.name += lazy_release;
            plan.entrants.push_back({store.get(), std::move(lazy), compared_with});
        }
        if (one_for_all) plan.entrants.push_back({store.get(), each_asks(*store, where), compared_with, pushes});
        if ((alone || apart) && keeps_across_a_network(*store)) {
            contender keeper = mutex_on(store->url, where, {.keep = mortise::keep::idle()});
            keeper.name += kept;
            plan.entrants.push_back({store.get(), std::move(keeper), compared_with, pushes});
        }
    }
    plan.run = [=, time = how.time](const entrant& each) {
        if (each.lock.alternates) return outcome_of(contest(each.lock, {.processes = 2}, time));
        return outcome_of(contest(each.lock, shape, time));
    };
    plan.bar_for = [=](const entrant& each, const metric& of) -> std::optional<bar> {
        if (each.lock.name.ends_with(kept) && !one_for_all)  // as many times as one that asks each time
            return of.name == "rate" ? std::optional{bar{bar::side::at_least, 50}} : std::nullopt;
        if (alone && is_host(each) && of.name == "rate") return bar{bar::side::at_least, each.lock.keeps ? 1.0 : 0.1};
        // Six times a std::mutex, which takes 24 ns in here, and 200 ns more.
        if (alone && is_memory(each) && of.name == "rate" && each.lock.keeps) return bar{bar::side::at_least, 0.07};
        if (alone && is_redis(each) && of.name == "pair p50")  // of two scripts; with a lazy release, one and a half
            return bar{bar::side::at_most, each.lock.name.ends_with(lazy_release) ? 0.75 : 1.15};
        if (alone && is_redisson(each) && of.name == "pair p50" && !each.lock.name.ends_with(lazy_release))
            return bar{bar::side::at_most, 1.15};
        if (alone && is_setnx(each) && of.name == "pair p50" && !each.lock.name.ends_with(lazy_release))
            return bar{bar::side::at_most, 1.1};
        if (alone && is_redlock(each) && of.name == "pair p50") return bar{bar::side::at_most, 1.25};
        if (alone && is_zookeeper(each) && of.name == "pair p50")  // it lists the line too
            return bar{bar::side::at_most, 1.5};
        if (alone && is_etcd(each) && of.name == "pair p50") return bar{bar::side::at_most, 1.15};
        if (alone && is_database(each) && of.name == "pair p50") return bar{bar::side::at_most, 1.25};
        const bool hands_over = !each.lock.name.ends_with(no_hand_over);
        if (apart && shape.threads == 1 && !hands_over && is_of_session(each) && of.name == "process switches")
            return bar{bar::side::at_least, 0.8};
        if (one_for_all && !apart && hands_over && is_database(each) && of.name == "rate")
            return bar{bar::side::at_least, 3};
        if (apart && shape.threads == 1 && !hands_over && is_redis(each) && of.name == "process switches")
            return bar{bar::side::at_least, 1 / 1.6};
        if (one_for_all && !apart && hands_over && is_redis(each) && of.name == "thread switches")
            return bar{bar::side::at_least, 2};
        if (a_name_each && shape.threads == 64 && is_redis(each) && of.name == "rate")
            return bar{bar::side::at_least, 1.5};
        // Five times what Redisson does between four processes. Who waits is told, and nobody is next: no shares are promised, but
        // nobody goes without.
        if (apart && shape.threads == 1 && !hands_over && is_redisson(each) && of.name == "process switches")
            return bar{bar::side::at_least, 5 * 458, false};
        if (one_for_all && (is_redisson(each) || is_setnx(each) || is_redlock(each)) && of.name.ends_with(" share"))
            return apart && hands_over && is_redisson(each) && of.name == "least share"
                       ? std::optional{bar{bar::side::at_least, 0.001, false}}
                       : std::nullopt;
        if (one_for_all && of.name == "least share") return bar{bar::side::at_least, 0.5, false};
        if (one_for_all && of.name == "most share") return bar{bar::side::at_most, 2, false};
        return std::nullopt;
    };
    return plan;
}

// A read of some words that all readers share.
void read_words() {
    static const std::array<std::atomic<std::uint64_t>, 64> words{};
    std::uint64_t sum = 0;
    for (const auto& each : words) sum += each.load(std::memory_order_relaxed);
    static_cast<void>(sum);
}

// Threads that only read: without a lock, with the shared side of one, and one after the other.
scenario readers(std::string workload, void (*read)(), const subject_stores& stores, const options& how) {
    const contest_shape shape{.threads = 16, .inside = read};
    scenario plan{.workload = std::move(workload),
                  .metrics = {{"rate", unit::per_second, true},
                              {"p50", unit::nanoseconds},
                              {"p99", unit::nanoseconds},
                              {"longest wait", unit::nanoseconds},
                              {"least share", unit::share},
                              {"most share", unit::share}},
                  .lanes = shape.lanes()};
    for (const auto& store : stores) {
        if (store->promises().most_capacity < 2) {
            plan.left_out.push_back({store.get(), plan.workload,
                                     store->shown() + " (" + store->promises().store + ") has no shared locks"});
            continue;
        }
        const names where{fresh_name(plan.workload)};
        const names alone{fresh_name(plan.workload)};
        const std::size_t compared_with = plan.entrants.size();
        plan.entrants.push_back({store.get(), no_lock(), compared_with});
        plan.entrants.push_back({store.get(), reader_on(store->url, where), compared_with});
        if (keeps_across_a_network(*store)) {
            contender keeper = reader_on(store->url, {fresh_name(plan.workload)}, {.keep = mortise::keep::idle()});
            keeper.name += kept;
            plan.entrants.push_back({store.get(), std::move(keeper), compared_with});
        }
        plan.entrants.push_back({store.get(), mutex_on(store->url, alone), compared_with});
    }
    plan.run = [=, time = how.time](const entrant& each) {
        const contest_result one = contest(each.lock, shape, time);
        return outcome{{one.grants, one.waits.percentile(0.5), one.waits.percentile(0.99), one.waits.percentile(0.999),
                        one.least_share, one.most_share},
                       one.waits};
    };
    return plan;
}

// From one process's calling unlock() to the return of the other's lock(): of one that slept for a while, or in quick
// succession. Where a store has no other processes, two threads.
scenario handoff(placement where, bool idle, const subject_stores& stores, const options& how) {
    scenario plan{.workload = std::string("handoff, ") + (idle ? "idle, " : "hot, ") +
                              (where == placement::apart ? "on two processors" : "on one processor"),
                  .metrics = {{"p50", unit::nanoseconds, true},
                              {"p99", unit::nanoseconds, true},
                              {"longest", unit::nanoseconds},
                              {"process switches", unit::per_second}},
                  .lanes = 2};
    for (const auto& store : stores) {
        const names one{fresh_name(plan.workload)};
        note_missing_baseline(plan, *store);
        auto compared_with = enter(plan, *store, store->baselines_of_kind(baseline::kind::commit), one);
        compared_with = enter(plan, *store, store->baselines_of_kind(baseline::kind::ping_pong), one, compared_with);
        contender ours = each_asks(*store, one, store->promises().fifo ? mortise::order::fifo : mortise::order::any);
        if (!store->promises().processes) ours.name += ", 2 threads";
        const std::size_t handed_over = plan.entrants.size();
        plan.entrants.push_back({store.get(), std::move(ours), compared_with});
        if (idle && keeps_across_a_network(*store)) {
            contender keeper = mutex_on(store->url, {one.stem, true}, {.keep = mortise::keep::idle(60s)});
            keeper.name += first_taker;
            plan.entrants.push_back({store.get(), std::move(keeper), handed_over});
        }
        enter(plan, *store, store->baselines_of_kind(baseline::kind::lock), one, compared_with);
    }
    plan.run = [=, time = how.time, rounds = how.quick ? 20 : 300](const entrant& each) {
        const bool apart = each.store->promises().processes && !each.lock.commits;
        const contest_shape shape{
            .processes = apart ? 2 : 1, .threads = apart ? 1 : 2, .where = where, .contended = true};
        outcome one;
        double switches = none;
        if (each.lock.commits) {
            one.waits = contest(each.lock, {.where = where}, time).pairs;
        } else if (each.lock.name.ends_with(first_taker)) {
            one.waits = first_takes(each.lock, shape, rounds, 1ms);
        } else if (idle) {
            one.waits = wake_ups(each.lock, shape, rounds, 1ms);
        } else {
            const contest_result hot = contest(each.lock, shape, time);
            one.waits = hot.handovers;
            if (apart) switches = hot.process_switches;
        }
        const bool any = one.waits.count() > 0;  // an unfair lock may never have changed hands
        const auto at = [&](double share) { return any ? one.waits.percentile(share) : none; };
        one.values = {at(0.5), at(0.99), at(0.999), switches};
        return one;
    };
    plan.bar_for = [=](const entrant& each, const metric& of) -> std::optional<bar> {
        if (each.lock.name.ends_with(first_taker))
            return of.name == "p50" ? std::optional{bar{bar::side::at_most, 1.6}} : std::nullopt;
        // In quick succession on one processor the kernel must switch back and forth once more for us than for who
        // alternates by itself, so that figure has no bar.
        if (is_redis(each) && of.name == "p50") return bar{bar::side::at_most, 1.6};
        if ((is_etcd(each) || is_zookeeper(each)) && of.name == "p50") return bar{bar::side::at_most, 1.5};
        if (commits_grants(each) && of.name == "p50") return bar{bar::side::at_most, 3};
        if (is_host(each) && of.name == "p50" && (idle || where == placement::apart)) return bar{bar::side::at_most, 3};
        return std::nullopt;
    };
    return plan;
}

scenario crowd(const subject_stores& stores, const contest_shape& shape) {
    const std::string processes = std::to_string(shape.processes) + (shape.processes == 1 ? " process" : " processes");
    scenario plan{.workload = "crowd, " + processes + " x " + std::to_string(shape.threads) + " waiters, drained",
                  .metrics = {{"hand-overs", unit::per_second, true},
                              {"commands per hand-over", unit::count},
                              {"store memory per waiter", unit::bytes},
                              {"p50", unit::nanoseconds},
                              {"p99", unit::nanoseconds},
                              {"longest wait", unit::nanoseconds}},
                  .lanes = shape.lanes()};
    for (const auto& store : stores) {
        if (!reaches(plan, *store, shape.processes)) continue;
        if (!store->baselines.usage().commands)
            plan.left_out.push_back(
                {store.get(), plan.workload + ": commands per hand-over", store->shown() + " counts no commands"});
        const names where{fresh_name(plan.workload)};
        note_missing_baseline(plan, *store);
        const auto compared_with = enter(plan, *store, store->baselines_of_kind(baseline::kind::lock), where);
        plan.entrants.push_back({store.get(), each_asks(*store, where), compared_with});
    }
    plan.run = [=](const entrant& each) {
        mortise::store_usage before;
        mortise::store_usage after;
        const drain_result one = drain(
            each.lock, shape, [&] { before = each.store->baselines.usage(); },
            [&] { after = each.store->baselines.usage(); });
        const double waiters = shape.lanes() - 1;
        const double commands = before.commands && after.commands && each.lock.ours
                                    ? static_cast<double>(*after.commands - *before.commands) / waiters
                                    : none;
        const double memory = before.memory && after.memory && each.lock.ours
                                  ? (static_cast<double>(*before.memory) - static_cast<double>(*after.memory)) / waiters
                                  : none;
        return outcome{{one.handovers, commands, memory, one.waits.percentile(0.5), one.waits.percentile(0.99),
                        one.waits.percentile(0.999)},
                       one.waits};
    };
    plan.bar_for = [](const entrant& each, const metric& of) -> std::optional<bar> {
        if (is_redis(each) && of.name == "commands per hand-over") return bar{bar::side::at_most, 2.2, false};
        if ((is_etcd(each) || is_zookeeper(each)) && of.name == "commands per hand-over")
            return bar{bar::side::at_most, 3, false};
        return std::nullopt;
    };
    return plan;
}

}  // namespace

contender each_asks(const subject_store& store, const names& where, mortise::order order) {
    contender made = mutex_on(store.url, where, {.hand_over_turns = 1}, {.order = order});
    made.name += no_hand_over;
    return made;
}

void read_row() {
    std::this_thread::sleep_for(1ms);
}

std::optional<std::size_t> entrant::baseline_of(const metric& what) const {
    return pushes && what.name.ends_with("switches") ? pushes : baseline;
}

std::vector<baseline> subject_store::baselines_of_kind(baseline::kind wanted) const {
    std::vector<baseline> found = baselines.all;
    std::erase_if(found, [&](const baseline& each) { return each.is != wanted; });
    return found;
}

std::vector<baseline> subject_store::lock_baselines() const {
    auto found = baselines_of_kind(baseline::kind::lock);
    return found.empty() ? baselines_of_kind(baseline::kind::round_trip) : found;
}

void tell_apart(const subject_stores& all) {
    const auto add_to_doubles = [&](auto what) {
        std::map<std::string, int> seen;
        for (const auto& each : all) ++seen[each->label];
        for (std::size_t i = 0; i < all.size(); ++i)
            if (seen[all[i]->label] > 1) all[i]->label += what(i);
    };
    add_to_doubles([&](std::size_t i) { return " (" + all[i]->promises().store + ")"; });
    add_to_doubles([](std::size_t i) { return " #" + std::to_string(i + 1); });
}

std::string fresh_name(std::string_view workload) {
    static std::atomic<int> made{0};
    return "bench-" + std::to_string(::getpid()) + "-" + std::string(workload.substr(0, workload.find(','))) + "-" +
           std::to_string(++made);
}

std::vector<scenario> scenarios(std::string_view workload, const subject_stores& stores, const options& how) {
    std::vector<scenario> all;
    const auto add = [&](std::string name, const contest_shape& shape, bool a_name_each) {
        all.push_back(contest_of(std::move(name), shape, a_name_each, stores, how));
    };
    if (workload == "uncontended") add("uncontended, 1 thread, 1 name", {.timed_every = 16}, false);
    if (workload == "parallel")
        for (const int threads : {8, how.quick ? 16 : 64})
            add("parallel, " + std::to_string(threads) + " threads, a name each",
                {.threads = threads, .timed_every = 16}, true);
    if (workload == "contended") add("contended, 16 threads, 1 name", {.threads = 16}, false);
    if (workload == "processes") {
        add("processes, 4 processes x 1 thread, 1 name", {.processes = 4}, false);
        add("processes, 4 processes x 4 threads, 1 name", {.processes = 4, .threads = 4}, false);
    }
    if (workload == "readers") {
        all.push_back(readers("readers, 16 threads, 64 words each", read_words, stores, how));
        all.push_back(readers("readers, 16 threads, 1 ms each", read_row, stores, how));
    }
    if (workload == "handoff")
        for (const placement where : {placement::together, placement::apart})
            for (const bool idle : {true, false}) all.push_back(handoff(where, idle, stores, how));
    if (workload == "crowd") {
        all.push_back(crowd(stores, {.processes = how.quick ? 3 : 20, .threads = how.quick ? 4 : 50}));
        all.push_back(crowd(stores, {.processes = 1, .threads = how.quick ? 12 : 1000}));
    }
    return all;
}

}  // namespace bench
