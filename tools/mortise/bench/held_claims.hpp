// Many holds at once, renewed for a while: what keeping them costs.
#pragma once

#include "baseline/baseline.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace bench {

struct holding_shape {
    int holds = 10'000;
    std::chrono::nanoseconds lease = std::chrono::seconds{30};
    int runs = 5;
    int thirds = 1;  // of a lease, for each run: in each every hold is renewed once
};

// One value for each run; not a number where the store does not count it.
struct holding_result {
    std::vector<double> client_processors{};  // processor time of the client's process, by time
    std::vector<double> server_processors{};  // of the store's server
    std::vector<double> per_renewal{};        // processor time of the client, nanoseconds
    std::vector<double> per_baseline_pair{};  // of the thread, for a lock() and an unlock() of the baseline
    double taken = 0;                         // holds taken per second, one after the other
    double client_memory = 0;                 // bytes per hold
    double store_memory = 0;
    double lost = 0;
    double longest_wait = 0;  // of another claim meanwhile, nanoseconds: fifty times a second a free name is locked
};

// All holds are of one client. Names begin with `stem`, and so does the place of the baseline (null: none).
holding_result hold_many(const std::string& store, const std::string& stem, const mortise::baseline* beside,
                         const holding_shape& shape);

}  // namespace bench
