#include "comparison.hpp"

#include "contest.hpp"
#include "statistics.hpp"
#include "tools/mortise/json.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <string_view>
#include <utility>

namespace bench {
namespace {

using namespace std::chrono_literals;
using mortise::baseline;

constexpr int contenders = 16;

double time_between(double per_second) {
    return per_second > 0 ? 1e9 / per_second : none;
}

// One column of the table.
struct part {
    std::string_view name;
    std::string_view heading;        // in two lines
    std::string_view compared_with;  // another part; empty: with nothing
    std::function<contender(const subject_store&, const names&)> lock;
    std::function<double(const entrant&, const options&)> time;  // in nanoseconds
};

const std::array<part, 8>& parts() {
    static const auto alone = [](const subject_store& store, const names& where) { return mutex_on(store.url, where); };
    static const auto crowded = [](const entrant& each, const options& how) {
        return time_between(contest(each.lock, {.threads = contenders}, how.time).grants);
    };
    static const auto reading = [](const entrant& each, const options& how) {
        return time_between(contest(each.lock, {.threads = contenders, .inside = read_row}, how.time).grants);
    };
    static const auto trip = [](const subject_store& store, const names& where) {
        return baseline_on(store.baselines_of_kind(baseline::kind::trip).front(), where);
    };
    static const auto in_order = [](const subject_store& store, const names& where) {
        return each_asks(store, where, store.promises().fifo ? mortise::order::fifo : mortise::order::any);
    };
    static const auto between_two = [](const entrant& each, const options& how) {
        const bool apart = each.store->promises().processes;
        const contest_shape shape{.processes = apart ? 2 : 1, .threads = apart ? 1 : 2, .where = placement::apart};
        return wake_ups(each.lock, shape, how.quick ? 20 : 150, 1ms).percentile(0.5);
    };
    static const std::array<part, 8> all{
        part{"trip", "/trip", "", trip,
             [](const entrant& each, const options& how) {
                 return contest(each.lock, {}, how.time / 2).waits.percentile(0.5);
             }},
        part{"pair", "lock and/unlock", "trip", alone,
             [](const entrant& each, const options& how) {
                 return contest(each.lock, {}, how.time).pairs.percentile(0.5);
             }},
        part{"hand-off", "to another/process", "trip", in_order, between_two},
        part{"contended", "16 threads,/a grant", "trip", alone, crowded},
        part{"contended, no hand-over", "no local/hand-over", "trip",
             [](const subject_store& store, const names& where) { return each_asks(store, where); }, crowded},
        part{"reads, no lock", "16 readers,/no lock", "", [](const subject_store&, const names&) { return no_lock(); },
             reading},
        part{"reads, shared", "shared/side", "reads, no lock",
             [](const subject_store& store, const names& where) { return reader_on(store.url, where); }, reading},
        part{"reads, exclusive", "one at/a time", "reads, no lock", alone, reading},
    };
    return all;
}

const part& part_named(std::string_view name) {
    return *std::find_if(parts().begin(), parts().end(), [&](const part& each) { return each.name == name; });
}

// Why a store cannot do it; empty: it can.
std::string reason_against(const part& what, const subject_store& store) {
    const std::string who = store.shown() + " (" + store.promises().store + ")";
    if (what.name == "trip" && store.baselines_of_kind(baseline::kind::trip).empty())
        return who + " is asked over no network";
    if (what.name == "reads, shared" && store.promises().most_capacity < 2) return who + " has no shared locks";
    return {};
}

const figure* find(const std::vector<figure>& taken, const subject_store& store, std::string_view subject) {
    for (const figure& each : taken)
        if (each.store == store.shown() && each.subject == subject) return &each;
    return nullptr;
}

std::string yes_or_no(bool one) {
    return one ? "yes" : "no";
}

std::string waiting_of(const mortise::promises& of) {
    return of.pushes ? "told" : "ask again";
}

std::string lease_of(const mortise::promises& of) {
    if (of.longest_lease)
        return "at most " + readable(static_cast<double>(of.longest_lease->count()), unit::nanoseconds);
    if (of.default_lease) return readable(static_cast<double>(of.default_lease->count()), unit::nanoseconds);
    return "none";
}

}  // namespace

scenario comparison(const subject_stores& stores, const options& how) {
    scenario plan{.workload = "comparison", .metrics = {{"time", unit::nanoseconds, true}}, .goes_on = true};
    for (const auto& store : stores) {
        std::vector<std::pair<std::string_view, std::size_t>> entered;
        for (const part& each : parts()) {
            if (std::string reason = reason_against(each, *store); !reason.empty()) {
                plan.left_out.push_back({store.get(), "comparison, " + std::string(each.name), std::move(reason)});
                continue;
            }
            entrant one{store.get(), each.lock(*store, {fresh_name("comparison")})};
            one.lock.name = each.name;
            for (const auto& [name, at] : entered)
                if (name == each.compared_with) one.baseline = at;
            entered.emplace_back(each.name, plan.entrants.size());
            plan.entrants.push_back(std::move(one));
        }
    }
    plan.run = [how](const entrant& each) { return outcome{{part_named(each.lock.name).time(each, how)}}; };
    return plan;
}

void print_comparison(std::ostream& out, const subject_stores& stores, const std::vector<figure>& taken) {
    std::vector<row> figures{{""}, {""}};
    for (const part& each : parts()) {
        const std::size_t line = each.heading.find('/');
        figures[0].emplace_back(each.heading.substr(0, line));
        figures[1].emplace_back(each.heading.substr(line + 1));
        if (each.compared_with.empty()) continue;
        figures[0].emplace_back();
        figures[1].emplace_back(each.compared_with == "trip" ? "trips" : "x");
    }
    std::vector<row> promised{{"", "tokens", "in order", "waiters", "readers", "detached", "lease", "processes"}};
    for (const auto& store : stores) {
        row& mine = figures.emplace_back(row{store->shown()});
        for (const part& each : parts()) {
            const figure* const found = find(taken, *store, each.name);
            mine.push_back(found != nullptr ? readable(found->value.median, unit::nanoseconds) : "-");
            if (each.compared_with.empty()) continue;
            mine.push_back(found != nullptr && found->ratio ? readable(found->ratio->median, unit::share) : "-");
        }
        const mortise::promises& of = store->promises();
        promised.push_back({store->shown(), yes_or_no(of.tokens), yes_or_no(of.fifo), waiting_of(of),
                            yes_or_no(of.most_capacity > 1), yes_or_no(of.detached), lease_of(of),
                            yes_or_no(of.processes)});
    }
    out << "\nfigures: time, and how often a trip, or a read without a lock, fits into it\n";
    print_rows(out, figures);
    out << "\npromises\n";
    print_rows(out, promised);
    for (const auto& store : stores) {
        const mortise::promises& of = store->promises();
        out << "\n" << store->shown() << "\n  exclusion: " << of.exclusion << "\n  freed: " << of.freed << "\n";
        for (const std::string& each : of.ends) out << "  ends: " << each << "\n";
    }
    out.flush();
}

std::string json_of(const subject_store& one) {
    const mortise::promises& of = one.promises();
    std::string ends;
    for (const std::string& each : of.ends) ends += (ends.empty() ? "" : " ") + each;
    command::json object;
    object.add("store", one.shown())
        .add("workload", "promises")
        .add("name", of.store)
        .add("tokens", of.tokens)
        .add("fifo", of.fifo)
        .add("pushes", of.pushes)
        .add("keeps", of.keeps)
        .add("shared", of.most_capacity > 1)
        .add("detached", of.detached)
        .add("processes", of.processes)
        .add("lease", lease_of(of))
        .add("order", of.order)
        .add("exclusion", of.exclusion)
        .add("freed", of.freed)
        .add("ends", ends);
    return object.text();
}

}  // namespace bench
