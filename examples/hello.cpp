// The first lock: a client, a mutex, a guard, and what somebody else is told meanwhile.
#include <mortise/mortise.hpp>

#include <iostream>
#include <mutex>

int main() {
    mortise::client locks{"memory:", {.label = "till 1"}};
    mortise::mutex tickets{locks, "ticket"};

    // Two clients stand for two processes: they share nothing but the store.
    mortise::client others{"memory:", {.label = "till 2"}};

    {
        std::scoped_lock guard{tickets};
        std::cout << "till 1 holds the lock: " << (tickets.hold().valid() ? "yes" : "no") << '\n';

        const auto refused = others.try_acquire("ticket");
        std::cout << "till 2 got it: " << (refused ? "yes" : "no") << '\n'
                  << "reason: " << refused.reason().message() << '\n'
                  << "held by: " << refused.refusal().holder->label << '\n';
    }  // unlocked here, also when an exception passes

    auto got = others.try_acquire("ticket");
    std::cout << "till 2 got it after the unlock: " << (got ? "yes" : "no") << '\n'
              << "its release: " << mortise::to_string(got->release()) << '\n';
}
