// A hundred callers want a page that is not in the cache. One renders it.
#include <mortise/mortise.hpp>
#include <mortise/patterns/single_flight.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <latch>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
    mortise::client locks{"memory:"};
    mortise::memory_storage cache;  // yours is a Redis: examples/patterns/redis_storage.cpp
    mortise::cached<std::string> pages{locks, cache, "pages", {.fresh_for = 1min, .rebuild_within = 10s}};

    std::atomic<int> rendered = 0;
    std::atomic<int> served = 0;
    const auto render = [&]() -> std::optional<std::string> {
        ++rendered;
        std::this_thread::sleep_for(20ms);  // the database is slow
        return "<h1>Front page</h1>";
    };

    std::latch together{100};
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 100; ++i)
            callers.emplace_back([&] {
                together.arrive_and_wait();
                served += pages.get("front", render) == "<h1>Front page</h1>";
            });
    }
    std::cout << "served " << served << ", rendered " << rendered << '\n';

    pages.invalidate("front");
    pages.get("front", render);
    std::cout << "after a change, rendered " << rendered << '\n';
}
