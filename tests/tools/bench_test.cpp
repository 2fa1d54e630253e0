// What the figures of `mortise bench` are made of, on data whose answers are known.
#include "tools/mortise/bench/comparison.hpp"
#include "tools/mortise/bench/figures.hpp"
#include "tools/mortise/bench/histogram.hpp"
#include "tools/mortise/bench/scenario.hpp"
#include "tools/mortise/bench/statistics.hpp"
#include "tools/mortise/bench/svg.hpp"

#include <mortise/error.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

namespace bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

TEST(spreads, have_the_middle_of_an_odd_number_and_the_mean_of_two_else) {
    const spread odd = spread_of({5, 1, 3});
    EXPECT_EQ(odd.median, 3);
    EXPECT_EQ(odd.least, 1);
    EXPECT_EQ(odd.most, 5);
    EXPECT_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
    EXPECT_EQ(spread_of({7}).median, 7);
}

TEST(spreads, leave_out_what_could_not_be_measured) {
    EXPECT_EQ(spread_of({none, 2, none}).median, 2);
    EXPECT_TRUE(std::isnan(spread_of({}).median));
    EXPECT_TRUE(std::isnan(spread_of({none}).median));
}

TEST(ratios, are_those_of_one_round_each) {
    const double values[] = {10, 40, 90};
    const double baseline[] = {10, 20, 30};
    const spread ratio = ratio_of(values, baseline);
    EXPECT_EQ(ratio.median, 2);
    EXPECT_EQ(ratio.least, 1);
    EXPECT_EQ(ratio.most, 3);
    const double nothing[] = {0, 0, 0};
    EXPECT_TRUE(std::isnan(ratio_of(values, nothing).median));
}

TEST(shares, are_of_the_mean) {
    const std::uint64_t counts[] = {50, 100, 150};
    EXPECT_EQ(shares_of(counts).least, 0.5);
    EXPECT_EQ(shares_of(counts).most, 1.5);
    const std::uint64_t starved[] = {0, 8};
    EXPECT_EQ(shares_of(starved).least, 0);
    EXPECT_EQ(shares_of(starved).most, 2);
    const std::uint64_t idle[] = {0, 0};
    EXPECT_TRUE(std::isnan(shares_of(idle).least));
}

TEST(histograms, are_exact_for_small_numbers) {
    histogram all{};
    for (int n = 1; n <= 60; ++n) all.add(n);
    EXPECT_EQ(all.count(), 60U);
    EXPECT_EQ(all.percentile(0.5), 30);
    EXPECT_EQ(all.percentile(0), 1);
    EXPECT_EQ(all.percentile(1), 60);
}

TEST(histograms, are_within_two_percent_for_large_ones) {
    for (std::int64_t value = 1; value < std::int64_t{1} << 40; value = value * 5 / 4 + 1) {
        histogram one{};
        one.add(value);
        const auto exact = static_cast<double>(value);
        EXPECT_NEAR(one.percentile(0.5), exact, exact * 0.02);
    }
}

TEST(histograms, rank_percentiles) {
    histogram all{};
    for (int n = 0; n < 990; ++n) all.add(10);
    for (int n = 0; n < 9; ++n) all.add(40);
    all.add(60);
    EXPECT_EQ(all.percentile(0.99), 10);
    EXPECT_EQ(all.percentile(0.991), 40);
    EXPECT_EQ(all.percentile(0.999), 40);
    EXPECT_EQ(all.percentile(1), 60);
}

TEST(histograms, add_up_and_bear_the_extremes) {
    histogram one{};
    histogram other{};
    one.add(-5);
    other.add(std::numeric_limits<std::int64_t>::max());
    one.add(other);
    EXPECT_EQ(one.count(), 2U);
    EXPECT_EQ(one.percentile(0.5), 0);
    EXPECT_GT(one.percentile(1), 1e12);
    EXPECT_EQ(histogram{}.percentile(0.5), 0);
}

TEST(figures, are_readable) {
    EXPECT_EQ(readable(1'234'567, unit::per_second), "1.23 M");
    EXPECT_EQ(readable(999.9, unit::per_second), "1.00 k");
    EXPECT_EQ(readable(0, unit::per_second), "0");
    EXPECT_EQ(readable(4'560, unit::nanoseconds), "4.56 us");
    EXPECT_EQ(readable(250, unit::nanoseconds), "250 ns");
    EXPECT_EQ(readable(2048, unit::bytes), "2.00 KiB");
    EXPECT_EQ(readable(0.98, unit::share), "0.980");
    EXPECT_EQ(readable(none, unit::share), "-");
}

figure specimen() {
    return {.store = "host:",
            .workload = "contended",
            .subject = "a \"quoted\" lock",
            .metric = {"rate", unit::per_second, true},
            .value = {200, 100, 300},
            .baseline = "flock(2)",
            .ratio = spread{0.5, 0.25, 0.75},
            .bar = bar{bar::side::at_least, 0.6}};
}

TEST(figures, know_whether_a_bar_is_met) {
    figure one = specimen();
    EXPECT_TRUE(one.bar_missed());
    one.bar->limit = 0.5;
    EXPECT_FALSE(one.bar_missed());
    one.bar = bar{bar::side::at_most, 199, false};
    EXPECT_TRUE(one.bar_missed());
    one.bar.reset();
    EXPECT_FALSE(one.bar_missed());
}

TEST(figures, are_objects_for_programs) {
    const std::string expected =
        R"j({"store":"host:","workload":"contended","subject":"a \"quoted\" lock","metric":"rate","value":200,)j"
        R"j("unit":"1/s","min":100,"max":300,"baseline":"flock(2)","ratio":0.5,"ratio_min":0.25,"ratio_max":0.75,)j"
        R"j("bar":"at least 0.600","bar_met":false})j";
    EXPECT_EQ(json_of(specimen()), expected);
    figure alone = specimen();
    alone.baseline = "";
    alone.ratio.reset();
    alone.bar.reset();
    EXPECT_THAT(json_of(alone), HasSubstr(R"("baseline":null,"ratio":null})"));
}

TEST(figures, are_a_table_for_people) {
    figure raw = specimen();
    raw.subject = "flock(2)";
    raw.value = {400, 400, 400};
    raw.ratio.reset();
    raw.bar.reset();
    figure least = specimen();
    least.metric = {"least share", unit::share};
    least.value = {0.5, 0.5, 0.5};
    least.bar.reset();
    std::ostringstream out;
    print_table(out, {raw, specimen(), least});
    const std::string expected = R"t(
contended
                                                              least
                   rate               ratio                   share
  flock(2)          400  (400 - 400)      1
  a "quoted" lock   200  (100 - 300)  0.500  (0.250 - 0.750)  0.500
  bar missed: a "quoted" lock, rate, ratio at least 0.600
)t";
    EXPECT_EQ(out.str(), expected);
}

// Every tag is closed, in order, and nothing stands outside of the one root.
void expect_well_formed(const std::string& xml) {
    static const std::regex tag{R"re(<(/?)([A-Za-z]+)((?: [A-Za-z0-9-]+="[^"<]*")*) ?(/?)>)re"};
    std::vector<std::string> open;
    std::string between;
    auto last = xml.cbegin();
    int roots = 0;
    for (std::sregex_iterator at{xml.begin(), xml.end(), tag}, end; at != end; ++at) {
        between = std::string(last, (*at)[0].first);
        EXPECT_EQ(between.find_first_of("<>"), between.npos) << between;
        last = (*at)[0].second;
        if ((*at)[1].length() == 0) {
            roots += open.empty();
            if ((*at)[4].length() == 0) open.push_back((*at)[2]);
        } else if (open.empty() || open.back() != (*at)[2]) {
            ADD_FAILURE() << "closes nothing: " << (*at)[0];
        } else {
            open.pop_back();
        }
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(roots, 1);
    EXPECT_EQ(std::string(last, xml.cend()), "\n");
}

TEST(pictures, are_well_formed_and_name_everything) {
    std::vector<distribution> all{{"host:", "contended", "flock(2)", {}},
                                  {"host:", "contended", "ours <&\"", {}},
                                  {"host:", "handoff", "ours", {}}};
    for (int n = 1; n < 10'000; ++n) all[0].waits.add(n * 100);
    all[2].waits.add(1);
    const std::string drawn = svg_of(all);
    expect_well_formed(drawn);
    for (const char* text : {"contended", "handoff", "flock(2)", "ours &lt;&amp;&quot;", "99.9", "1.00 us", "1.00 ms"})
        EXPECT_THAT(drawn, HasSubstr(text));
    EXPECT_THAT(drawn, Not(HasSubstr("nan")));
    expect_well_formed(svg_of({}));
}

TEST(pictures, rise_from_left_to_right) {
    distribution one{"host:", "contended", "ours", {}};
    for (int n = 1; n < 10'000; ++n) one.waits.add(n * 100);
    const std::string drawn = svg_of({one});
    std::smatch found;
    ASSERT_TRUE(std::regex_search(drawn, found, std::regex{"<polyline points=\"([^\"]*)\""}));
    std::istringstream points{found[1]};
    double x = 0;
    double y = 0;
    double last_x = -1;
    double last_y = 1e9;
    char comma = 0;
    for (; points >> x >> comma >> y; last_x = x, last_y = y) {
        EXPECT_GT(x, last_x);
        EXPECT_LE(y, last_y);
    }
    EXPECT_GT(last_x, 0);
}

TEST(scenarios, compare_with_a_baseline_of_the_same_store) {
    subject_stores stores;
    stores.push_back(std::make_unique<subject_store>("memory:"));
    for (const scenario& plan : scenarios("uncontended", stores, {})) {
        EXPECT_TRUE(plan.left_out.empty());
        ASSERT_EQ(plan.entrants.size(), 3U);
        EXPECT_EQ(plan.entrants.front().lock.name, "std::mutex");
        for (const entrant& each : plan.entrants) EXPECT_EQ(each.baseline, 0U);
    }
}

TEST(scenarios, of_readers_compare_with_no_lock) {
    subject_stores stores;
    stores.push_back(std::make_unique<subject_store>("memory:"));
    const std::vector<scenario> all = scenarios("readers", stores, {});
    ASSERT_EQ(all.size(), 2U);
    for (const scenario& plan : all) {
        EXPECT_TRUE(plan.left_out.empty());
        ASSERT_EQ(plan.entrants.size(), 3U);
        EXPECT_EQ(plan.entrants.front().lock.name, "no lock");
        for (const entrant& each : plan.entrants) EXPECT_EQ(each.baseline, 0U);
    }
}

TEST(scenarios, of_readers_name_a_store_that_has_none) {
    const char* const exclusive = "etcd://127.0.0.1:1?protocol=concurrency";
    subject_stores stores;
    try {
        stores.push_back(std::make_unique<subject_store>(exclusive));
    } catch (const mortise::error&) {
        GTEST_SKIP() << "this build has no etcd";
    }
    for (const scenario& plan : scenarios("readers", stores, {})) {
        EXPECT_TRUE(plan.entrants.empty());
        ASSERT_EQ(plan.left_out.size(), 1U);
        EXPECT_EQ(plan.left_out.front().what, plan.workload);
        EXPECT_THAT(plan.left_out.front().reason, HasSubstr(stores.front()->shown()));
        EXPECT_THAT(plan.left_out.front().reason, HasSubstr("has no shared locks"));
    }
}

TEST(comparisons, count_in_trips_and_name_what_a_store_cannot_do) {
    subject_stores stores;
    stores.push_back(std::make_unique<subject_store>("memory:"));
    try {
        stores.push_back(std::make_unique<subject_store>("etcd://127.0.0.1:1?protocol=concurrency"));
    } catch (const mortise::error&) {
        GTEST_SKIP() << "this build has no etcd";
    }
    const scenario plan = comparison(stores, {});
    std::map<std::string, std::string> compared;  // of etcd
    for (const entrant& each : plan.entrants) {
        if (each.baseline) {
            EXPECT_EQ(plan.entrants[*each.baseline].store, each.store);
        }
        if (each.store == stores.back().get())
            compared[each.lock.name] = each.baseline ? plan.entrants[*each.baseline].lock.name : "";
    }
    const std::map<std::string, std::string> expected{{"trip", ""},
                                                      {"pair", "trip"},
                                                      {"hand-off", "trip"},
                                                      {"contended", "trip"},
                                                      {"reads, no lock", ""},
                                                      {"contended, no hand-over", "trip"},
                                                      {"reads, exclusive", "reads, no lock"}};
    EXPECT_EQ(compared, expected);
    ASSERT_EQ(plan.left_out.size(), 2U);
    EXPECT_THAT(plan.left_out.front().reason, HasSubstr("memory: (memory) is asked over no network"));
    EXPECT_THAT(plan.left_out.back().reason, HasSubstr("has no shared locks"));
}

TEST(comparisons, tell_stores_apart_that_are_shown_alike) {
    subject_stores stores;
    for (const char* address : {"memory:", "memory:", "host:/tmp/x"})
        stores.push_back(std::make_unique<subject_store>(address));
    tell_apart(stores);
    EXPECT_EQ(stores[0]->shown(), "memory: (memory) #1");
    EXPECT_EQ(stores[1]->shown(), "memory: (memory) #2");
    EXPECT_EQ(stores[2]->shown(), "host:/tmp/x");
}

TEST(comparisons, are_a_table_for_people) {
    subject_stores stores;
    stores.push_back(std::make_unique<subject_store>("memory:"));
    figure one{.store = "memory:",
               .workload = "comparison",
               .subject = "pair",
               .metric = {"time", unit::nanoseconds, true},
               .value = {4560, 4000, 5000}};
    one.ratio = spread{2.5, 2, 3};
    std::ostringstream out;
    print_comparison(out, stores, {one});
    EXPECT_THAT(out.str(), HasSubstr("memory:     -   4.56 us   2.50"));
    EXPECT_THAT(out.str(), HasSubstr("ends: The process ends"));
}

TEST(scenarios, measure_a_store_without_a_baseline_alone_and_say_so) {
    subject_stores stores;
    stores.push_back(std::make_unique<subject_store>("memory:"));
    stores.front()->baselines = {};
    for (const std::string_view workload : {"uncontended", "parallel", "contended", "handoff"}) {
        for (const scenario& plan : scenarios(workload, stores, {})) {
            ASSERT_EQ(plan.left_out.size(), 1U) << plan.workload;
            EXPECT_EQ(plan.left_out.front().what, plan.workload + ": baseline");
            EXPECT_THAT(plan.left_out.front().reason, HasSubstr("memory: has no baseline"));
            EXPECT_FALSE(plan.entrants.empty());
            for (const entrant& each : plan.entrants) {
                EXPECT_TRUE(each.lock.ours);
                EXPECT_FALSE(each.baseline || each.pushes);
            }
        }
    }
}

}  // namespace
}  // namespace bench
