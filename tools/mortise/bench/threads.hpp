// Threads that work for one measurement.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

// Runs `work(i)` in so many threads. What one of them throws is thrown here, when all have ended.
inline void in_threads(int count, const std::function<void(int)>& work) {
    if (count == 1) return work(0);
    std::exception_ptr failure;
    std::mutex failure_guard;
    std::vector<std::jthread> all;
    for (int i = 0; i < count; ++i) {
        all.emplace_back([&, i] {
            try {
                work(i);
            } catch (...) {
                const std::scoped_lock guard{failure_guard};
                failure = std::current_exception();
            }
        });
    }
    all.clear();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace bench
