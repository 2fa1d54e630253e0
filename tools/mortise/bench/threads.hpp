// Threads that work for one measurement.
#pragma once

#include "crew.hpp"

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace bench {

// Runs `work(i)` in so many threads, in a process of a crew. When one throws, the process fails at once: the others may be
// waiting for it, and would for ever.
inline void in_threads(int count, const std::function<void(int)>& work) {
    if (count == 1) return work(0);
    std::vector<std::jthread> all;
    for (int i = 0; i < count; ++i) {
        all.emplace_back([&, i] {
            try {
                work(i);
            } catch (const std::exception& e) {
                crew::fail(e.what());
            }
        });
    }
}

}  // namespace bench
