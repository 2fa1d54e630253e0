// How fast a store's locks are, beside the store's baselines, in one run.
//
// Each workload is a contest between our lock and the store's baselines. They run in turn, several times over, so that what
// disturbs the machine for a while disturbs all of them; a ratio is that of one round. A store without baselines is measured
// alone.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct options {
    std::vector<std::string> stores{};     // addresses; several stand in one table
    std::vector<std::string> workloads{};  // empty: all
    int runs = 5;
    std::chrono::nanoseconds time = std::chrono::milliseconds{300};  // of one run
    bool quick = false;                                              // shows that it works, not how fast
    bool json = false;
    bool check = false;  // a missed bar is a failure
    std::string svg{};   // where to draw the distributions of waits; empty: nowhere
    std::function<void(const std::string& what)> progress{};
};

std::span<const std::string_view> workloads();

// Runs them all and prints to `out`. False: a bar was missed and is to be checked. Throws mortise::error (bad_url,
// unreachable ...), std::runtime_error when a process of a contest fails, and `interrupted` (crew.hpp); nothing is left
// behind then. Forks: call it before there are threads.
bool run(const options& how, std::ostream& out);

}  // namespace bench
