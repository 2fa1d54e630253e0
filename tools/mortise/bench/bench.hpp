// How fast a store's locks are, beside the store's baselines, in one run.
//
// Each workload is a contest between our lock and the store's baselines. They run in turn, several times over, so that what
// disturbs the machine for a while disturbs all of them; a ratio is that of one round. A store without baselines is measured
// alone.
#pragma once

#include "options.hpp"

#include <iosfwd>
#include <span>
#include <string_view>

namespace bench {

std::span<const std::string_view> workloads();

// Runs them all and prints to `out`. False: a bar was missed and is to be checked. Throws mortise::error (bad_url,
// unreachable ...), std::runtime_error when a process of a contest fails, and `interrupted` (crew.hpp); nothing is left
// behind then. Forks: call it before there are threads.
bool run(const options& how, std::ostream& out);

}  // namespace bench
