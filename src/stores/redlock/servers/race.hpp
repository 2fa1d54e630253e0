// Two clients of a test that want one lock, time and again.
#pragma once

#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::inline v0::stores::redlock::servers {

struct race {
    std::size_t wanted = 0;      // by both together
    std::vector<token> given{};  // in the order of the holders; empty tokens if the store has none
    int overlaps = 0;
};

// `most`: how often each takes it; `make storms` has 10,000 times together.
inline race two_clients_race(const std::string& url, std::uint64_t most) {
    const bool in_full = std::getenv("MORTISE_STORMS_IN_FULL") != nullptr;
    const std::uint64_t times = testing::scale(in_full ? 5000 : most);
    race seen{.wanted = 2 * times};
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::mutex mutex;
    std::vector<std::jthread> both;
    for (int t = 0; t < 2; ++t)
        both.emplace_back([&] {
            client locks{url, {.hand_over_turns = 0}};
            for (std::uint64_t n = 0; n < times; ++n) {
                const hold mine = locks.acquire("both", {.wait = std::chrono::seconds{300}});
                if (inside.fetch_add(1) != 0) ++overlaps;
                {
                    std::error_code none;
                    std::scoped_lock guard{mutex};
                    seen.given.push_back(mine.token(none));
                }
                inside.fetch_sub(1);
            }
        });
    both.clear();
    seen.overlaps = overlaps;
    return seen;
}

}  // namespace mortise::inline v0::stores::redlock::servers
