// Every machine's timer starts the nightly report. One of them makes it.
#include <mortise/mortise.hpp>
#include <mortise/patterns/once_per_period.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main() {
    const mortise::client keeps_the_store{"memory:"};  // a server of yours would
    int reports = 0;
    for (const char* machine : {"alpha", "beta", "gamma"}) {
        mortise::client locks{"memory:"};
        mortise::once_per_period nightly{locks, "report", 24h};
        const bool ran = nightly.try_run([&] { ++reports; });
        std::cout << machine << (ran ? " made the report" : ": it has been made") << '\n';
    }
    std::cout << "reports: " << reports << '\n';
}
