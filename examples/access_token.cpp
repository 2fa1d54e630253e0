// A provider whose new token voids the old one. Eight senders share it; none is ever rejected.
#include <mortise/mortise.hpp>
#include <mortise/patterns/token_keeper.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
    mortise::client locks{"memory:"};
    mortise::memory_storage storage;

    std::atomic<int> current = 0;  // at the provider
    std::atomic<int> rejected = 0;
    std::atomic<int> sent = 0;
    mortise::token_keeper keeper{locks, storage, "provider", [&] {
                                     const int made = ++current;  // from now on the last one is void
                                     return mortise::credential{std::to_string(made), 5ms};
                                 }};
    {
        std::vector<std::jthread> senders;
        for (int i = 0; i < 8; ++i)
            senders.emplace_back([&] {
                while (current < 10)
                    keeper.use([&](const std::string& token) {
                        std::this_thread::yield();  // on its way to the provider
                        rejected += token != std::to_string(current);
                        ++sent;
                    });
            });
    }
    std::cout << "refreshed at least ten times: " << (current >= 10 ? "yes" : "no") << '\n'
              << "something was sent: " << (sent > 0 ? "yes" : "no") << ", rejected: " << rejected << '\n';
}
