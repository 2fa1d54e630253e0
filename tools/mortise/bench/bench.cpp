#include "bench.hpp"

#include "comparison.hpp"
#include "crew.hpp"
#include "figures.hpp"
#include "held_claims.hpp"
#include "scenario.hpp"
#include "svg.hpp"
#include "tools/mortise/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

using namespace std::chrono_literals;

class program {
public:
    program(const options& how, std::ostream& out) : how_(how), out_(out) {
        for (const std::string& each : how.stores) stores_.push_back(std::make_unique<subject_store>(each));
        tell_apart(stores_);
    }

    bool run() {
        if (!how_.json) {
            for (const auto& each : stores_) out_ << each->shown() << "  ";
            out_ << std::thread::hardware_concurrency() << " processors; median of " << how_.runs
                 << " runs in turn (least - most)\n";
        }
        if (how_.workloads.empty() && stores_.size() > 1) {
            compare_stores();
            complain_of_failures();
            return true;
        }
        for (const std::string_view each : workloads()) {
            const bool named = std::find(how_.workloads.begin(), how_.workloads.end(), each) != how_.workloads.end();
            if (!named && (!how_.workloads.empty() || each == "million")) continue;
            if (each == "holding") holding({10'000, 100'000}, 0.05);
            if (each == "million") holding({1'000'000}, 1.0 / 3);
            for (const scenario& plan : scenarios(each, stores_, how_)) measure(plan);
        }
        if (!how_.svg.empty()) draw();
        return !how_.check || bars_met_;
    }

private:
    void compare_stores() {
        const scenario plan = comparison(stores_, how_);
        const std::vector<figure> taken = figures_of(plan);
        if (!how_.json) return print_comparison(out_, stores_, taken);
        show(taken);
        for (const auto& each : stores_) out_ << json_of(*each) << "\n";
        out_.flush();
    }

    // So that who compares many stores gets the others' figures too.
    void complain_of_failures() const {
        if (!failed_.empty()) throw std::runtime_error("comparison: figures are missing; " + failed_);
    }

    void measure(const scenario& plan) { show(figures_of(plan)); }

    // All entrants of all stores in turn, then their figures.
    std::vector<figure> figures_of(const scenario& plan) {
        for (const scenario::omission& each : plan.left_out) leave_out(each);
        std::vector<std::vector<outcome>> taken(plan.entrants.size());
        std::vector<bool> gone(plan.entrants.size());
        for (int run = 0; run < how_.runs; ++run)
            for (std::size_t i = 0; i < plan.entrants.size(); ++i) {
                std::optional<outcome> one;
                if (!gone[i]) one = measure(plan, plan.entrants[i], run);
                gone[i] = !one;
                taken[i].push_back(one.value_or(outcome{std::vector(plan.metrics.size(), none)}));
            }

        std::vector<figure> all;
        for (std::size_t i = 0; i < plan.entrants.size(); ++i) {
            const entrant& each = plan.entrants[i];
            for (std::size_t m = 0; m < plan.metrics.size(); ++m) {
                const auto values = column(taken[i], m);
                figure one{each.store->shown(), plan.workload, each.lock.name, plan.metrics[m], spread_of(values)};
                if (!std::isfinite(one.value.median)) continue;  // not to be had on this store
                if (const auto with = each.baseline_of(plan.metrics[m]); with && *with != i) {
                    compare(one, values, plan.entrants[*with].lock.name, column(taken[*with], m));
                    if (plan.bar_for && each.lock.ours) one.bar = plan.bar_for(each, one.metric);
                }
                all.push_back(one);
            }
            distribution waits{each.store->shown(), plan.workload, each.lock.name, {}};
            for (const outcome& one : taken[i]) waits.waits.add(one.waits);
            distributions_.push_back(waits);
        }
        return all;
    }

    // None: it failed, and the plan goes on.
    std::optional<outcome> measure(const scenario& plan, const entrant& each, int run) {
        const std::string who = plan.workload + ": " + each.store->shown() + " " + each.lock.name;
        tell(who + ", run " + std::to_string(run + 1) + " of " + std::to_string(how_.runs));
        struct tidy {
            const entrant& of;
            int lanes;
            ~tidy() { of.lock.clear(lanes); }
        } const at_the_end{each, plan.lanes};
        try {
            return plan.run(each);
        } catch (const interrupted&) {
            throw;
        } catch (const std::exception& e) {
            if (!plan.goes_on) throw std::runtime_error(who + ": " + e.what());
            leave_out({each.store, plan.workload + ", " + each.lock.name, e.what()});
            if (failed_.empty()) failed_ = each.store->shown() + " " + each.lock.name + ": " + e.what();
            return std::nullopt;
        }
    }

    static std::vector<double> column(const std::vector<outcome>& taken, std::size_t of) {
        std::vector<double> values;
        for (const outcome& each : taken) values.push_back(each.values[of]);
        return values;
    }

    static void compare(figure& one, const std::vector<double>& values, const std::string& with,
                        const std::vector<double>& baseline) {
        const spread ratio = ratio_of(values, baseline);
        if (!std::isfinite(ratio.median)) return;
        one.baseline = with;
        one.ratio = ratio;
    }

    // The only workload that is no contest: what keeping many holds costs, beside a lock and unlock of the baseline.
    void holding(const std::vector<int>& counts, double processors) {
        holding_shape shape{.runs = how_.runs};
        for (const int holds : how_.quick ? std::vector{100} : counts) {
            shape.holds = holds;
            if (!how_.quick) shape.thirds = holds > 10'000 ? 4 : 2;
            // Whoever holds a million takes a longer lease: each is renewed three times in one.
            shape.lease = how_.quick ? 600ms : holds > 100'000 ? 90s : 30s;
            const std::string workload = "holding, " + std::to_string(holds) + " renewed holds, lease " +
                                         readable(static_cast<double>(shape.lease.count()), unit::nanoseconds);
            std::vector<figure> all;
            for (const auto& store : stores_) {
                tell(workload + ": " + store->shown());
                if (store->promises().leases) {
                    hold_on(*store, workload, shape, processors, all);
                } else {
                    leave_out({store.get(), workload, store->shown() + " has no leases to renew"});
                }
            }
            show(all);
        }
    }

    void hold_on(const subject_store& store, const std::string& workload, const holding_shape& shape, double processors,
                 std::vector<figure>& all) {
        const std::vector<mortise::baseline> baselines = store.lock_baselines();
        const mortise::baseline* beside = baselines.empty() ? nullptr : &baselines.front();
        if (beside == nullptr)
            leave_out({&store, workload + ": baseline", store.shown() + " has no baseline, so it is measured alone"});
        const holding_result got = hold_many(store.url, fresh_name(workload), beside, shape);
        const metric cost{"processor per renewal", unit::nanoseconds, true};
        const std::string pair = beside == nullptr ? "" : beside->name + ", a pair";
        if (beside != nullptr) all.push_back({store.shown(), workload, pair, cost, spread_of(got.per_baseline_pair)});
        const auto add = [&](const metric& of, const std::vector<double>& values) {
            figure one{store.shown(), workload, "mortise::hold", of, spread_of(values)};
            if (of.headline) compare(one, values, pair, got.per_baseline_pair);
            if (of.name == "lost") one.bar = bar{bar::side::at_most, 0, false};
            if (of.unit == unit::processors && !how_.quick) one.bar = bar{bar::side::at_most, processors, false};
            if (of.name == "longest wait" && !how_.quick) one.bar = bar{bar::side::at_most, 1e9, false};
            if (std::isfinite(one.value.median)) all.push_back(one);
        };
        add(cost, got.per_renewal);
        add({"client processors", unit::processors}, got.client_processors);
        add({"server processors", unit::processors}, got.server_processors);
        add({"client memory per hold", unit::bytes}, {got.client_memory});
        add({"store memory per hold", unit::bytes}, {got.store_memory});
        add({"taken", unit::per_second}, {got.taken});
        add({"lost", unit::count}, {got.lost});
        add({"longest wait", unit::nanoseconds}, {got.longest_wait});
    }

    void leave_out(const scenario::omission& what) {
        if (how_.json) {
            command::json object;
            object.add("store", what.store->shown()).add("workload", what.what).add("skipped", what.reason);
            out_ << object.text() << std::endl;
        } else {
            out_ << "\n" << what.what << "\n  left out: " << what.reason << std::endl;
        }
    }

    void show(const std::vector<figure>& all) {
        tell("");
        for (const figure& each : all) {
            if (each.bar_missed()) bars_met_ = false;
            if (how_.json) out_ << json_of(each) << "\n";
        }
        if (!how_.json) print_table(out_, all);
        out_.flush();
    }

    void tell(const std::string& what) const {
        if (how_.progress) how_.progress(what);
    }

    void draw() const {
        std::ofstream file{how_.svg};
        file << svg_of(distributions_);
        if (!file.flush()) throw std::runtime_error("bench: cannot write " + how_.svg);
    }

    const options& how_;
    std::ostream& out_;
    subject_stores stores_;
    std::vector<distribution> distributions_;
    bool bars_met_ = true;
    std::string failed_{};  // the first that was left out because it failed
};

}  // namespace

std::span<const std::string_view> workloads() {
    static constexpr std::array<std::string_view, 9> all{"uncontended", "parallel", "contended", "processes", "readers",
                                                         "handoff",     "holding",  "crowd",     "million"};
    return all;
}

bool run(const options& how, std::ostream& out) {
    heed_interrupts();
    return program{how, out}.run();
}

}  // namespace bench
