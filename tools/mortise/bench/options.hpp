// What `mortise bench` is asked to measure.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct options {
    std::vector<std::string> stores{};     // addresses; several stand in one table
    std::vector<std::string> workloads{};  // empty: all, or of several stores a comparison
    int runs = 5;
    std::chrono::nanoseconds time = std::chrono::milliseconds{300};  // of one run
    bool quick = false;                                              // short runs, to try it
    bool json = false;
    bool check = false;  // a missed target is a failure
    std::string svg{};   // where to draw the distributions of waits; empty: nowhere
    std::function<void(const std::string& what)> progress{};
};

}  // namespace bench
